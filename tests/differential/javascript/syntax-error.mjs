// differential: {"program": "import { nothing } from 'fs';\nconsole.log(nothing);\n", "verdict": "user_exception", "exit": 1}
