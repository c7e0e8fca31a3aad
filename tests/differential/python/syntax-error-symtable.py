# differential: {"program": "def f():\n    x = 1\n    global x\n\nreturn 5\n", "verdict": "user_exception", "exit": 1}
