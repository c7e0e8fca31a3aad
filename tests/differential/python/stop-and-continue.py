# differential: {"verdict": "user_exception", "exit": 5}
import os
import signal
import time

main = os.getpid()
if os.fork() == 0:
    time.sleep(0.5)
    os.kill(main, signal.SIGCONT)
    os._exit(0)
os.kill(main, signal.SIGSTOP)
print("went on", os.wait()[1])
raise SystemExit(5)
