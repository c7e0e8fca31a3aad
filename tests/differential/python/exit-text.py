# differential: {"verdict": "user_exception", "exit": 1}
import sys

print("buffered", end="")
sys.exit("a text for stderr, \u00e9")
