# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import collections.abc
import importlib
import json
import json.decoder
import os
import sys
import types

for name in ("json", "json.decoder", "os", "collections", "types"):
    module = sys.modules[name]
    print(name, module.__file__, getattr(module, "__cached__", "frozen"), module.__package__, module.__spec__, type(module.__loader__).__name__)
    print(module.__loader__ is module.__spec__.loader, importlib.import_module(name) is module)
print(os.path is sys.modules["posixpath"], json.JSONDecoder is json.decoder.JSONDecoder)
print(list(vars(json)))
print(json.__builtins__ is vars(sys.modules["builtins"]), repr(json), repr(sys), repr(collections.abc))
for gone in ("nonexistent_module", "json.nothing", "os.path.nothing"):
    try:
        importlib.import_module(gone)
    except ImportError as error:
        print(type(error).__name__, error, error.name, error.path)
