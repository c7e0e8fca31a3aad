# differential: {}
import os
import subprocess

print(os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), os.getpgrp(), os.getresuid(), os.getresgid(), os.getgroups())
print(sorted(int(n) for n in os.listdir("/proc") if n.isdigit()))
for call in (os.getlogin, lambda: os.tcgetpgrp(0), lambda: open("/dev/tty"), os.setsid, lambda: os.ttyname(0)):
    try:
        print(call())
    except OSError as error:
        print(error)
child = subprocess.Popen(["true"])
print(child.pid, child.wait())
