# differential: {"program": "print('one')\nprint('t\u0000wo')\n", "verdict": "user_exception", "exit": 1}
