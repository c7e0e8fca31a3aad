# airlock-case: {"expect":"user_exception","exit":143,"stdout":"asked to stop\n","note":"the program catches SIGTERM and ends as a shell would show it: still an exit code"}
import os
import signal
import sys


def stop(number, frame):
    print("asked to stop")
    sys.exit(128 + number)


signal.signal(signal.SIGTERM, stop)
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
