# airlock-case: {"expect": "success", "has": "more than allowed", "limits": {"pids": 8}, "root": true, "note": "root of the guest can lift the guest's own limit on processes; the documentation says so, and the host's bounds stay"}
import os
import signal

with open("/sys/fs/cgroup/job/pids.max", "w") as f:
    f.write("max")
children = 0
for _ in range(30):
    if os.fork() == 0:
        signal.pause()
    children += 1
print("more than allowed", children)
