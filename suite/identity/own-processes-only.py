# airlock-case: {"expect": "success", "has": "all alone", "note": "small process numbers, no process of the agent or the kernel in sight, and no descriptor of theirs handed down"}
import os

seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
print(os.getpid(), os.getppid(), seen)
fds = [fd for fd in range(4096) if os.path.lexists(f"/proc/self/fd/{fd}")]
print("all alone" if os.getpid() < 10 and seen == [os.getpid()] and fds == [0, 1, 2] else "COMPANY", fds)
