# differential: {"program": "\u000c\nif True:\n    print('last', __file__)\n    raise SystemExit(3)", "verdict": "user_exception", "exit": 3}
