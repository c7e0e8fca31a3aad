# airlock-case: {"expect": "user_exception", "reason": "exit_code", "exit": 137, "never": "success", "stdin": "a\nb", "has": ["2 lines"], "note": "137 by choice is an exit code, not a signal"}
import sys

print(len(sys.stdin.readlines()), "lines", flush=True)
sys.exit(137)
