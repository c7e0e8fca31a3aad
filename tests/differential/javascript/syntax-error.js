// differential: {"program": "const a = 1;\n\nfunction f( {\n    return a;\n}\n", "verdict": "user_exception", "exit": 1}
