# airlock-case: {"expect":"success","stdout":"child died by 15\nmain in a session of its own\n","note":"the program leaves the group and session it was started in; whoever tracks it by those loses it"}
import os
import signal
import sys

ready, told = os.pipe()
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.write(told, b"x")
    signal.pause()
os.read(ready, 1)
os.killpg(pid, signal.SIGTERM)
print("child died by", os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
if os.fork() == 0:
    os.setsid()
    signal.pause()
os.setpgid(0, 0) if os.getsid(0) != os.getpid() else None
print("main in a session of its own" if os.getsid(0) == os.getpid() else "main in another session")
sys.stdout.flush()
