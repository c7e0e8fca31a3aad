# airlock-case: {"expect": "success", "has": "limits kept", "never": "BREACH", "note": "the files that hold the program's limits are not mounted anywhere and cannot be mounted"}
import os

hit = []
for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/job", "/cgroup/job", "/run/cgroup", "/dev/cgroup"):
    for name in ("memory.max", "pids.max", "cgroup.procs", "cgroup.kill", "release_agent"):
        try:
            open(f"{path}/{name}", "w").write("max")
            hit.append(f"{path}/{name}")
        except OSError:
            pass
kinds = [line.split(" - ")[1].split()[0] for line in open("/proc/self/mountinfo")]
hit += [k for k in kinds if k.startswith("cgroup")]
print(open("/proc/self/cgroup").read().strip())
print("BREACH" if hit else "limits kept", hit)
