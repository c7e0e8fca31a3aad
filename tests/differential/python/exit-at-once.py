# differential: {"verdict": "user_exception", "exit": 9}
import atexit
import os
import sys

atexit.register(print, "never printed")
print("never flushed")
print("stderr is", file=sys.stderr)
os._exit(9)
