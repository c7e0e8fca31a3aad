# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import importlib
import importlib.util
import json
import string
import sys

json.marked = True
again = importlib.reload(json)
print(again is json, json.marked, json.loads("[1]"))
del sys.modules["string"]
import string as second

print(second is string, second.__spec__ == string.__spec__, second.ascii_letters == string.ascii_letters)
importlib.invalidate_caches()
try:
    importlib.reload(sys.modules["__main__"])
except ImportError as error:
    print(type(error).__name__, error)
print(importlib.util.find_spec("csv"), importlib.util.find_spec("__main__") if __spec__ else "no spec")
