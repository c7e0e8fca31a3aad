# differential: {"program": "import os\n\n\ndef f(:\n    pass\n", "verdict": "user_exception", "exit": 1}
