# airlock-case: {"expect":"timeout","which":"wall","never":"continued","limits":{"wall_s":1,"cpu_s":60},"note":"a stopped program has not ended, and must not be taken for one that has"}
import os
import signal

if os.fork() == 0:
    os.kill(os.getppid(), 0)
    signal.pause()
print("stopping all", flush=True)
os.kill(0, signal.SIGSTOP)
print("continued by somebody", flush=True)
