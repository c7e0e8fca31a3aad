# differential: {"program": "import sys\nprint(sys.path[0], 'PK\u0005\u0006', __spec__)\n1/0\n", "verdict": "user_exception", "exit": 1}
