# differential: {"program": "if 1:\n        a = 1\n\tb = 2\n", "verdict": "user_exception", "exit": 1}
