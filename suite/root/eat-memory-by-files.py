# airlock-case: {"expect": ["oom", "sandbox_failure", "user_exception", "timeout"], "has": "filling", "limits": {"mem_mib": 64, "wall_s": 30}, "root": true, "note": "files in memory belong to no process that could be killed; the whole machine fills up and its host does not"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
print("filling", flush=True)
with open("/sys/fs/cgroup/cgroup.procs", "w") as f:
    f.write(str(os.getpid()))
with open("/proc/self/oom_score_adj", "w") as f:
    f.write("-1000")
libc.mount(b"t", b"/mnt", b"tmpfs", 0, b"size=100g")
with open("/mnt/fill", "wb", buffering=0) as f:
    while True:
        f.write(bytes(1 << 20))
