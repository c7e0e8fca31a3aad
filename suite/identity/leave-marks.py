# airlock-case: {"expect": "success", "has": "marks left", "note": "leaves a mark in every place that can be written; the next case looks for them from another machine"}
import os
import socket

left = []
for place in ("/", "/etc", "/work", "/out", "/tmp", "/var/tmp", "/dev/shm", "/dev", "/run", "/root", "/home", "/usr/local", "/in", "/dev/mqueue", "/mnt"):
    try:
        with open(place + "/airlock-mark", "w") as f:
            f.write("was here")
        left.append(place)
    except OSError:
        pass
s = socket.socket(socket.AF_UNIX)
s.bind("\0airlock-mark")
s.listen()
if os.fork() == 0:
    os.setsid()
    while True:
        s.accept()
print("marks left", left)
