# differential: {"program": "#!/usr/bin/python3\n# -*- coding: iso-8859-15 -*-\nprint('\u00e9\u00a4')\nraise ValueError('\u00e9\u00a4')  # \u00a4\n", "verdict": "user_exception", "exit": 1}
