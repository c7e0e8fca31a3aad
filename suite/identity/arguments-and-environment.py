# airlock-case: {"expect": "success", "stdout": "EMPTY=\nGIVEN=grün = 1\nHOME=/work\nLANG=C.UTF-8\nOUT=/out\nPATH=/usr/local/bin:/usr/bin:/bin\n", "args": ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zwölf", "line\nend", "*", "\\n"], "env": {"GIVEN": "grün = 1", "EMPTY": ""}, "note": "the environment is what the caller gave and four fixed names, nothing of the caller's own; arguments pass no shell and arrive as given"}
import sys

block = open("/proc/self/environ", "rb").read()
for entry in sorted(block.decode().split("\0")[:-1]):
    print(entry)
assert sys.argv[1:] == ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zw\u00f6lf", "line\nend", "*", "\\n"], sys.argv
