# differential: {"program": "print('one')\nprint('\u00e9')\n", "verdict": "user_exception", "exit": 1}
