# differential: {}
import sys

start = set(sys.modules)


def imported(text):
    before = set(sys.modules)
    exec(text, {})
    print(text, "->", [name for name in sys.modules if name not in before])


for each in ("json", "re", "collections", "datetime", "random", "subprocess", "threading", "logging", "typing",
             "tempfile", "hashlib", "csv", "decimal", "asyncio", "multiprocessing", "urllib.request", "unittest"):
    imported(f"import {each}")
print(sorted(set(sys.modules) - start))
