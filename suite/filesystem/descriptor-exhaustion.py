# airlock-case: {"expect": "success", "has": "EMFILE", "note": "a program that holds every descriptor it can get ends normally; agent and host keep theirs"}
import errno
import os
import resource

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
try:
    while len(held) < 100000:
        held.append(os.open("/in", os.O_RDONLY) if len(held) % 2 else os.dup(1))
    print("no end")
except OSError as e:
    for fd in held[:5]:
        os.close(fd)
    print(errno.errorcode[e.errno], "at the limit:", held[-1] == hard - 1)
