# airlock-case: {"expect": "timeout", "which": "wall", "has": "refusing", "limits": {"wall_s": 2}, "root": true, "note": "signals ignored, emergency keys off and the agent frozen: the machine has no say in its end, the monitor is killed"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import signal
import time

print("refusing", flush=True)
time.sleep(0.5)  # the agent still has to pass it on
for sig in signal.valid_signals() - {9, 19}:
    signal.signal(sig, signal.SIG_IGN)
for path, value in (("/proc/sys/kernel/sysrq", "0"), ("/proc/sys/kernel/ctrl-alt-del", "0"), ("/proc/self/oom_score_adj", "-1000"), ("/proc/sys/kernel/panic", "0")):
    with open(path, "w") as f:
        f.write(value)
os.mkdir("/sys/fs/cgroup/ice")
for name, value in (("cgroup.procs", "1"), ("cgroup.freeze", "1")):
    with open("/sys/fs/cgroup/ice/" + name, "w") as f:
        f.write(value)
while True:
    time.sleep(1000)
