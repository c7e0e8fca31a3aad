# differential: {"verdict": "user_exception", "exit": 120}
import os
import sys

print("written before")
sys.stdout.flush()
print("kept in the buffer")
os.close(1)
