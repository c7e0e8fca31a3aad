// differential: {"program": "console.log('not reached');\nlet x = 5 5;\n", "verdict": "user_exception", "exit": 1}
