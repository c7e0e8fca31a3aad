# differential: {"program": "# \u00c3\u00a9\nname = 'd\u00c3\u00a9j\u00c3\u00a0' 'vu' 1\n", "verdict": "user_exception", "exit": 1}
