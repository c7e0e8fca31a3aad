// differential: {"program": "await 1;\n", "verdict": "user_exception", "exit": 1}
