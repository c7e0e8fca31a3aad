# airlock-case: {"expect": "success", "has": "no hold on it", "never": "BREACH", "only": "Node.js has no ptrace and no pidfd calls", "note": "ptrace, cross-process memory, stolen descriptors and kcmp on the process above the program are refused"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
buf = ctypes.create_string_buffer(64)
local, remote = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 64), (ctypes.c_void_p * 2)(0x400000, 64)
for name, call in (("attach", lambda: libc.ptrace(16, 1, 0, 0)), ("seize", lambda: libc.ptrace(0x4206, 1, 0, 0)),
                   ("read memory", lambda: libc.syscall(310, 1, local, 1, remote, 1, 0)), ("write memory", lambda: libc.syscall(311, 1, local, 1, remote, 1, 0)),
                   ("kcmp", lambda: libc.syscall(312, os.getpid(), 1, 0, 0, 0)), ("move pages", lambda: libc.syscall(279, 1, 0, None, None, None, 0)),
                   ("robust list", lambda: libc.syscall(274, 1, local, remote))):
    ctypes.set_errno(0)
    if call() >= 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
try:
    pidfd = os.pidfd_open(1)
    for fd in range(8):
        if libc.syscall(438, pidfd, fd, 0) >= 0:
            hit.append(f"stolen {fd}")
    for sig in (9, 15, 19):
        if libc.syscall(424, pidfd, sig, None, 0) >= 0:
            hit.append(f"signal {sig}")
except OSError as e:
    print("pidfd", os.strerror(e.errno))
print("BREACH" if hit else "no hold on it", hit)
