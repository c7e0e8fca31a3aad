# airlock-case: {"expect":"user_exception","exit":6,"stdout":"continued\n","note":"whoever waits for the program must not take 'stopped' for 'ended'","source":"https://github.com/ioi/isolate/blob/master/isolate.c"}
import os
import signal
import sys
import time

main = os.getpid()
if os.fork() == 0:
    while open(f"/proc/{main}/stat").read().split()[2] != "T":
        time.sleep(0.05)
    os.kill(main, signal.SIGCONT)
    os._exit(0)
os.kill(main, signal.SIGSTOP)
print("continued")
sys.exit(6)
