# airlock-case: {"expect": "success", "has": "nothing to join", "never": "BREACH", "note": "the namespaces of the process above cannot be opened, so they cannot be joined; the program's own give nothing new"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for pid in (1, os.getppid()):
    for kind in ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup"):
        try:
            os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            hit.append((pid, kind))
        except OSError:
            pass
for kind in ("mnt", "pid", "net", "ipc", "uts", "cgroup"):
    fd = os.open(f"/proc/self/ns/{kind}", os.O_RDONLY)
    if libc.setns(fd, 0) == 0:
        hit.append(kind)
    print(kind, os.strerror(ctypes.get_errno()))
print("BREACH" if hit else "nothing to join", hit)
