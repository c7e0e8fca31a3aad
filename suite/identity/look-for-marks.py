# airlock-case: {"expect": "success", "stdout": "no marks\n", "after": "identity/leave-marks", "note": "nothing of the job before is there: no file, no process, no socket, no shared memory, no message queue"}
import os
import socket

found = [place for place in ["/"] + ["/" + n for n in os.listdir("/")] + ["/usr/local", "/var/tmp", "/dev/shm", "/dev/mqueue"]
         if os.path.lexists(place + "/airlock-mark")]
with socket.socket(socket.AF_UNIX) as s:
    if s.connect_ex("\0airlock-mark") == 0:
        found.append("socket")
for place in ("/work", "/out", "/tmp", "/var/tmp", "/dev/shm"):
    found += [f"{place}/{n}" for n in os.listdir(place) if n not in ("main.py", "lost+found")]
for table in ("shm", "sem", "msg"):
    found += open(f"/proc/sysvipc/{table}").read().splitlines()[1:] if os.path.exists("/proc/sysvipc") else []
print("no marks" if not found else f"MARKS {found}")
