# airlock-case: {"expect": "success", "stdout": "no marks\n", "after": "identity/leave-marks", "note": "nothing of the job before is there: no file, no process, no socket, no shared memory, no message queue"}
import os
import socket

found = [base for base, dirs, files in os.walk("/") if "airlock-mark" in files and not base.startswith("/proc")]
with socket.socket(socket.AF_UNIX) as s:
    if s.connect_ex("\0airlock-mark") == 0:
        found.append("socket")
for place in ("/work", "/out", "/tmp", "/var/tmp", "/dev/shm"):
    found += [f"{place}/{n}" for n in os.listdir(place) if n not in ("main.py", "lost+found")]
for table in ("shm", "sem", "msg"):
    found += open(f"/proc/sysvipc/{table}").read().splitlines()[1:] if os.path.exists("/proc/sysvipc") else []
print("no marks" if not found else f"MARKS {found}")
