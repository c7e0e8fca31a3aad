# differential: {}
import sys

for name in ("json", "random", "none_such"):
    sys.modules[name] = None
    try:
        __import__(name)
    except ImportError as error:
        print(type(error).__name__, error)
del sys.modules["json"]
import json

print(json.dumps([1]), sys.modules["random"])
try:
    import tempfile
except ImportError as error:
    print(error, "tempfile" in sys.modules)
