# differential: {"env": {"PYTHONPATH": "/in:/tmp"}, "inputs": {"extra.py": "print('from', __file__)\n"}, "fresh": "PYTHON* changes the interpreter itself"}
import sys

import extra

print(sys.path)
