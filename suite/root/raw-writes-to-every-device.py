# airlock-case: {"expect": "success", "has": "writing", "limits": {"wall_s": 6}, "root": true, "note": "a kilobyte into every device node there is, consoles, ports, memory, watchdogs and disks; whatever breaks is inside the machine"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os

print("writing", flush=True)
for base, dirs, files in os.walk("/dev"):
    for name in sorted(files):
        path = os.path.join(base, name)
        if os.path.islink(path) or base.startswith("/dev/shm"):
            continue
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.write(fd, b"\xa5" * 1024)
            os.close(fd)
        except OSError:
            pass
