# airlock-case: {"expect": "oom", "has": "eating", "limits": {"mem_mib": 64, "wall_s": 20}, "events": ["oom_kill"], "root": true, "note": "the guest's own memory limit is lifted; the fixed size of the machine is the end, long before the gigabyte that is asked for"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
print("eating", flush=True)
for path, value in (("/sys/fs/cgroup/job/memory.max", "max"), ("/proc/sys/vm/overcommit_memory", "1"), ("/proc/sys/vm/min_free_kbytes", "16384")):
    with open(path, "w") as f:
        f.write(value)
kept = bytearray(b"x") * (1 << 30)
print("a gigabyte")
