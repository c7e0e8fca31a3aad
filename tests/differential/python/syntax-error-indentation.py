# differential: {"program": "def f():\n        return 1\n    return 2\n", "verdict": "user_exception", "exit": 1}
