# airlock-case: {"expect": "timeout", "which": "wall", "has": "frozen", "limits": {"wall_s": 6}, "root": true, "note": "an agent in a frozen control group answers nothing; only the host's clock ends the job"}
import os
import signal

print("frozen", flush=True)
os.mkdir("/sys/fs/cgroup/ice")
with open("/sys/fs/cgroup/ice/cgroup.procs", "w") as f:
    f.write("1")
with open("/sys/fs/cgroup/ice/cgroup.freeze", "w") as f:
    f.write("1")
while True:
    signal.pause()
