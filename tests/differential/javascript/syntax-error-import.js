// differential: {"program": "import fs from 'fs';\nconsole.log(fs);\n", "verdict": "user_exception", "exit": 1}
