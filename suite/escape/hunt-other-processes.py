# airlock-case: {"expect": "success", "has": "nobody to harm", "never": "BREACH", "note": "signals, tracing, memory, priority and limits of every pid around: only the program's own process answers"}
import os
import resource
import signal

hit = []
for pid in [p for p in range(1, 300) if p != os.getpid()]:
    for name, action in (("signal", lambda: os.kill(pid, 0)), ("end", lambda: os.kill(pid, signal.SIGKILL)), ("reboot", lambda: os.kill(pid, signal.SIGINT)), ("stop", lambda: os.kill(pid, signal.SIGSTOP)), ("memory", lambda: open(f"/proc/{pid}/mem", "r+b")),
                         ("maps", lambda: open(f"/proc/{pid}/maps").read()), ("files", lambda: os.listdir(f"/proc/{pid}/fd")),
                         ("nice", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)), ("limit", lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))),
                         ("oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w")), ("affinity", lambda: os.sched_setaffinity(pid, {0}))):
        try:
            action()
            hit.append((pid, name))
        except OSError:
            pass
print("BREACH" if hit else "nobody to harm", hit)
