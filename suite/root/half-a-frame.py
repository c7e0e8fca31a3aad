# airlock-case: {"expect": "timeout", "which": "wall", "has": "half", "limits": {"wall_s": 5}, "root": true, "only": "Node.js cannot take another process's descriptor, and the port opens only once", "note": "a frame that never ends keeps the host waiting for its rest until the wall limit, not longer"}
import ctypes
import os
import struct
import time

print("half", flush=True)
time.sleep(1)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, 1, 0, 0)
os.waitpid(1, 0x40000000)
at = next(int(fd) for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
port = libc.syscall(438, os.pidfd_open(1), at, 0)
os.write(port, struct.pack("<IHHI", 0x316B6C61, 18, 0, 1000))
time.sleep(600)
