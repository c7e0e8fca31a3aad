# airlock-case: {"expect": "success", "has": "kernel faults not handled by us", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "handling the kernel's own page faults from a program makes races in the kernel easy to win; only user mode faults may be"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
whole = libc.syscall(323, os.O_CLOEXEC)
print("kernel faults too", os.strerror(ctypes.get_errno()) if whole < 0 else "given")
user = libc.syscall(323, os.O_CLOEXEC | 1)
print("user mode only", "given" if user >= 0 else "refused")
print("BREACH" if whole >= 0 else "kernel faults not handled by us")
