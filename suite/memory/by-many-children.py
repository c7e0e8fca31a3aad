# airlock-case: {"expect":"success","has":"killed","never":"killed 0","events":["oom_kill"],"limits":{"mem_mib":64},"note":"each child is well below the limit, together they are above it"}
import os
import signal
import time

pids = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        hoard = b"\xaa" * (24 << 20)
        time.sleep(600)
    pids.append(pid)
killed = os.WTERMSIG(os.waitpid(-1, 0)[1]) == signal.SIGKILL
print("killed", int(killed))
for pid in pids:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
