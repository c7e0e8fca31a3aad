# differential: {"verdict": "user_exception", "signal": "SIGINT"}
import atexit
import os
import signal
import time


@atexit.register
def last():
    print("atexit still runs")


def wait():
    time.sleep(60)


signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
wait()
