# airlock-case: {"expect": "success", "has": "locks held", "never": "BREACH", "in": {"given.txt": "given\n"}, "only": "Node.js has no call for file locks", "note": "locks taken on files of the image and the inputs and never given back must not stop agent, collection or another machine"}
import fcntl
import os
import signal
import sys

held = []
for path in ("/in/given.txt", "/etc/passwd", sys.executable, "/out", "/work", "/in", "/usr/bin"):
    f = os.open(path, os.O_RDONLY)
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held.append(f)
mine = open("/out/lock", "w")
fcntl.lockf(mine, fcntl.LOCK_EX)
fcntl.fcntl(os.open("/out", os.O_RDONLY), 1026, 0xF)  # F_NOTIFY: a directory watch as well
if os.fork() == 0:
    os.setsid()
    signal.pause()  # keeps the locks after the main process has gone
print("locks held", len(held))
