# differential: {"program": "\u00ef\u00bb\u00bf# -*- coding: latin-1 -*-\nprint('x')\n", "verdict": "user_exception", "exit": 1}
