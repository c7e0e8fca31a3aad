# airlock-case: {"expect":"user_exception","exit":3,"stdout":"left\n","limits":{"wall_s":3},"note":"main ends and leaves children that are stopped, that ignore signals and that spin","source":"https://github.com/ponylang/ponyc/issues/5764"}
import os
import signal
import sys

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
for way in ("stopped", "spinning", "sleeping"):
    if os.fork() == 0:
        os.setsid()
        if way == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        while way == "spinning":
            pass
        signal.pause()
print("left")
sys.exit(3)
