# airlock-case: {"expect": "user_exception", "signal": "SIGKILL", "has": "written", "outputs": {}, "note": "a signal that a program sends to itself is its own end and no success, so nothing is exported"}
import os

with open("/out/result", "w") as f:
    f.write("x")
print("written", flush=True)
os.kill(os.getpid(), 9)
