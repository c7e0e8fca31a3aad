# airlock-case: {"expect": "success", "has": "no namespace of its own", "never": "BREACH", "only": "Node.js cannot unshare and the image has no unshare program", "note": "a user namespace would give the program every capability over new mounts and networks; the kernel's count of them is 0"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for name, flag in (("user", 0x10000000), ("user and mounts", 0x10020000), ("mounts", 0x20000), ("net", 0x40000000), ("pid", 0x20000000), ("uts", 0x4000000),
                   ("ipc", 0x8000000), ("cgroup", 0x2000000), ("time", 0x80)):
    if libc.unshare(flag) == 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
child = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
if child > 0:
    hit.append("clone")
print("BREACH" if hit else "no namespace of its own", hit)
