# differential: {"verdict": "user_exception", "exit": 120}
import os
import sys

print("stdout works")
os.close(2)
print(sys.stderr.fileno(), open("/dev/null").fileno())
raise ValueError("nobody sees it")
