# airlock-case: {"expect": ["oom", "sandbox_failure", "user_exception"], "has": "eating", "limits": {"mem_mib": 64, "wall_s": 20}, "root": true, "note": "the guest's own memory limit is lifted and the program spared by its killer; the fixed size of the machine is the end"}
import os

print("eating", flush=True)
for path, value in (("/sys/fs/cgroup/job/memory.max", "max"), ("/proc/self/oom_score_adj", "-1000"), ("/proc/sys/vm/overcommit_memory", "1")):
    with open(path, "w") as f:
        f.write(value)
kept = []
while True:
    kept.append(bytearray(b"x") * (1 << 20))
