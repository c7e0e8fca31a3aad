# airlock-case: {"expect":"success","stdout":"child died by 9\nmain goes on\n","events":["oom_kill"],"limits":{"mem_mib":48},"note":"only a child was killed: the event is told, and the verdict follows the main program"}
import os

pid = os.fork()
if pid == 0:
    hoard = []
    while True:
        hoard.append(b"\xaa" * (1 << 20))
print("child died by", os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
print("main goes on")
