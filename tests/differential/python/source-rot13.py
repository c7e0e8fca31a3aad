# differential: {"program": "# coding: rot13\ncevag(1)\n", "verdict": "user_exception", "exit": 1}
