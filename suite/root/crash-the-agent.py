# airlock-case: {"expect": "sandbox_failure", "has": "crashing", "events": ["kernel_panic"], "root": true, "only": "Node.js has no ptrace", "note": "the agent is pid 1: when it is made to crash the kernel panics, and nothing is reported"}
import ctypes
import os
import time

print("crashing", flush=True)
time.sleep(0.5)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, 1, 0, 0)
os.waitpid(1, 0x40000000)
libc.ptrace(6, 1, ctypes.c_long(16 * 8), 0)  # its next instruction is at address 0
libc.ptrace(17, 1, 0, 0)
time.sleep(60)
