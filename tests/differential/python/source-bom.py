# differential: {"program": "\u00ef\u00bb\u00bf# with a mark\nprint('\u00c3\u00a9', __file__)\n1/0\n", "verdict": "user_exception", "exit": 1}
