# airlock-case: {"expect": "success", "has": "named airlock", "never": "BREACH", "note": "the host's own name is not told, and the guest's cannot be changed by the program"}
import os
import socket

try:
    socket.sethostname("mine")
    print("BREACH")
except OSError as e:
    print(os.strerror(e.errno))
names = {socket.gethostname(), os.uname().nodename, open("/proc/sys/kernel/hostname").read().strip()}
print(names, open("/proc/sys/kernel/domainname").read().strip())
print("named airlock" if names == {"airlock"} else "OTHER NAME")
