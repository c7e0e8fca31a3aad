# differential: {"verdict": "user_exception", "exit": 1}
import os
import sys

print(os.fsdecode(b"\xff\xfe name").encode("utf-8", "surrogateescape"))
sys.stderr.write("\udcff lone on stderr\n")
print("\U0001f600 \u00e9", ascii("\u00e9"))
print("\udcff lone on stdout, which may be bytes")
print("\ud800 which may not")
