# differential: {"program": "print('not reached')\nx = 'open\nprint(x)\n", "verdict": "user_exception", "exit": 1}
