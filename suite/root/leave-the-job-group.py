# airlock-case: {"expect": "success", "has": "left a daemon", "root": true, "note": "a daemon outside the job's control group and session ignores every signal; it ends with the machine at the latest"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import signal
import time

if os.fork() == 0:
    with open("/sys/fs/cgroup/cgroup.procs", "w") as f:
        f.write(str(os.getpid()))
    os.setsid()
    for sig in signal.valid_signals() - {9, 19}:
        signal.signal(sig, signal.SIG_IGN)
    while True:
        time.sleep(1000)
time.sleep(0.5)
print("left a daemon")
