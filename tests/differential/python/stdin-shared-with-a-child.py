# differential: {"stdin": "one\ntwo\nthree\n"}
import os
import subprocess
import sys

print(os.read(0, 4))
sys.stdout.flush()
subprocess.run(["head", "-n", "1"])
print(repr(sys.stdin.read()))
