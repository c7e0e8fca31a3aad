# airlock-case: {"expect": "timeout", "which": "wall", "has": "refusing", "limits": {"wall_s": 5}, "root": true, "note": "signals ignored, emergency keys off, watchdog held: the machine has no say in its end, the monitor is killed"}
import os
import signal
import time

print("refusing", flush=True)
for sig in signal.valid_signals() - {9, 19}:
    signal.signal(sig, signal.SIG_IGN)
for path, value in (("/proc/sys/kernel/sysrq", "0"), ("/proc/sys/kernel/ctrl-alt-del", "0"), ("/proc/self/oom_score_adj", "-1000"), ("/proc/sys/kernel/panic", "0")):
    with open(path, "w") as f:
        f.write(value)
while True:
    time.sleep(1000)
