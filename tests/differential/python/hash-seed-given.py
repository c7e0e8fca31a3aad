# differential: {"env": {"PYTHONHASHSEED": "1"}, "fresh": "PYTHON* changes the interpreter itself"}
import sys

print(hash("text"), hash(b"bytes"), {"b", "a", "c", "dd"}, sys.flags.hash_randomization)
