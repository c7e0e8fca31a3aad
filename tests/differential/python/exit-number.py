# differential: {"verdict": "user_exception", "exit": 7}
import atexit
import sys

atexit.register(print, "at exit")
try:
    sys.exit(7)
finally:
    print("finally")
