# differential: {}
# Without the library's directories what was not imported yet can't be imported.
import sys

sys.path[:] = [p for p in sys.path if p == "/work"]
for name in ("json", "os", "re", "random", "threading", "asyncio", "encodings", "io", "tokenize", "_json", "math", "time"):
    try:
        print(name, __import__(name).__name__)
    except ImportError as error:
        print(name, error)
