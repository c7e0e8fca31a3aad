# airlock-case: {"expect":"success","stdout":"out of reach\n","note":"tracing the sandbox's process or reading its memory would give away everything it holds","source":"https://github.com/vm0-ai/vm0/issues/31040"}
import ctypes
import os

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
reached = [name for name, request in (("attach", PTRACE_ATTACH), ("seize", PTRACE_SEIZE))
           if libc.ptrace(request, 1, None, None) == 0]
for name in ("mem", "environ", "maps", "root/etc/passwd", "exe", "cmdline", "fd/0", "stack"):
    try:
        reached.append(name + str(open(f"/proc/1/{name}", "rb").read(16)))
    except OSError:
        pass
pidfd = os.pidfd_open(1)
for fd in range(8):
    if libc.syscall(438, pidfd, fd, 0) >= 0:  # pidfd_getfd
        reached.append(f"descriptor {fd}")
print(reached or "out of reach")
