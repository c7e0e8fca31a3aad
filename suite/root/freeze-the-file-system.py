# airlock-case: {"expect": ["success", "sandbox_failure", "timeout"], "has": "freezing", "limits": {"wall_s": 10}, "root": true, "only": "Node.js has no ioctl", "note": "a frozen file system blocks every writer in the kernel; the program ends while its children hang there"}
import fcntl
import os
import time

print("freezing", flush=True)
fcntl.ioctl(os.open("/work", os.O_RDONLY), 0xC0045877, 0)  # FIFREEZE
if os.fork() == 0:
    open("/work/never", "w").close()
    os._exit(0)
time.sleep(0.5)
os._exit(0)
