# differential: {"verdict": "user_exception", "signal": "SIGTERM"}
import os
import signal
import time

print("flushed", flush=True)
print("lost")
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
