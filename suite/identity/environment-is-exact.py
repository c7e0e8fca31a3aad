# airlock-case: {"expect": "success", "stdout": "EMPTY=\nGIVEN=grün = 1\nHOME=/work\nLANG=C.UTF-8\nOUT=/out\nPATH=/usr/local/bin:/usr/bin:/bin\n", "env": {"GIVEN": "grün = 1", "EMPTY": ""}, "quick": true, "note": "the environment is what the caller gave and four fixed names, nothing of the caller's own"}
import os

block = open("/proc/self/environ", "rb").read()
for entry in sorted(block.decode().split("\0")[:-1]):
    print(entry)
assert os.environ["GIVEN"] == "grün = 1"
