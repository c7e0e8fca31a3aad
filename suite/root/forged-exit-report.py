# airlock-case: {"expect": "sandbox_failure", "has": "forging", "never": "STILL HERE", "events": ["protocol_error"], "root": true, "only": "Node.js cannot take another process's descriptor, and the port opens only once", "note": "an EXIT frame with the right number and order but a short payload is not believed in part"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import struct
import time

print("forging", flush=True)
time.sleep(1)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, 1, 0, 0)
os.waitpid(1, 0x40000000)
at = next(int(fd) for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
port = libc.syscall(438, os.pidfd_open(1), at, 0)
payload = bytes(8)  # not signaled, code 0, and then nothing more
# 0 was READY, 1 STARTED, 2 the line above
os.write(port, struct.pack("<IHHII", 0x316B6C61, 21, 0, len(payload), 3) + payload)
time.sleep(60)
print("STILL HERE")
