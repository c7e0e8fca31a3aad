# differential: {"program": "# coding: no-such-coding\nprint(1)\n", "verdict": "user_exception", "exit": 1}
