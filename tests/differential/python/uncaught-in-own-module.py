# differential: {"verdict": "user_exception", "exit": 1, "inputs": {"helper.py": "import os\n\n\ndef run(f):\n    return f(os.getcwd())\n", "broken.py": "import helper\n\nhelper.run(lambda d: helper.run(d.nothing))\n"}}
import sys

sys.path.append("/in")
import broken
