# differential: {"verdict": "timeout", "options": ["--wall", "4s"]}
import time

print("asleep", flush=True)
time.sleep(600)
