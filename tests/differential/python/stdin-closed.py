# differential: {"stdin": "one\ntwo\n", "verdict": "user_exception", "exit": 1}
import os
import sys

print(input())
os.close(0)
print(open("/dev/null").fileno())
sys.stdin.close()
try:
    sys.stdin.read()
except ValueError as error:
    print(error)
print(input())
