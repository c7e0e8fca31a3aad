# differential: {"env": {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "always", "PYTHONDONTWRITEBYTECODE": "1"}, "fresh": "PYTHON* changes the interpreter itself"}
"""A docstring that -OO takes away."""
import sys
import warnings

assert False
print(__doc__, __debug__, sys.flags, sys.warnoptions, warnings.filters[0])
