# airlock-case: {"expect": "sandbox_failure", "has": "promising", "events": ["protocol_error"], "root": true, "only": "Node.js cannot take another process's descriptor, and the port opens only once", "note": "a header that announces four gigabytes must not make the host reserve or wait for them"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import struct
import time

print("promising", flush=True)
time.sleep(1)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, 1, 0, 0)
os.waitpid(1, 0x40000000)
at = next(int(fd) for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
port = libc.syscall(438, os.pidfd_open(1), at, 0)
os.write(port, struct.pack("<IHHII", 0x316B6C61, 18, 0, 0xFFFFFFFF, 3))
time.sleep(60)
