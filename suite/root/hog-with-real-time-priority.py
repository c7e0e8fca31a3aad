# airlock-case: {"expect": "timeout", "which": "cpu", "has": "hogging", "limits": {"cpu_s": 1, "wall_s": 60}, "root": true, "note": "a program above every other thread of its machine starves the agent; CPU time is counted outside"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

print("hogging", flush=True)
time.sleep(0.2)
with open("/proc/sys/kernel/sched_rt_runtime_us", "w") as f:
    f.write("-1")
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
while True:
    pass
