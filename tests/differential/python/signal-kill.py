# differential: {"verdict": "user_exception", "signal": "SIGKILL"}
import os

os.write(1, b"last words\n")
os.kill(os.getpid(), 9)
