# differential: {"program": "# coding: utf-7\nprint('+AOk-')\nraise ValueError('+AOk-')\n", "verdict": "user_exception", "exit": 1}
