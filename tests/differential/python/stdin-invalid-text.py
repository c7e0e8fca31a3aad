# differential: {"stdin": "fine\n\u00ff\u00fe\n", "verdict": "user_exception", "exit": 1}
import sys

print(sys.stdin.readline())
sys.stdin.reconfigure(errors="strict")
print(sys.stdin.readline())
