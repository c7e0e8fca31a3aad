# airlock-case: {"expect": "timeout", "which": "wall", "has": "stopped", "limits": {"wall_s": 4}, "root": true, "only": "Node.js has no ptrace, and pid 1 ignores a plain SIGSTOP", "note": "the agent is traced and stopped; the machine is killed at the wall limit without its help"}
import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
print("stopped", flush=True)
time.sleep(0.5)
if libc.ptrace(16, 1, 0, 0) != 0:
    raise OSError(ctypes.get_errno(), "attach")
os.waitpid(1, 0x40000000)
time.sleep(600)
