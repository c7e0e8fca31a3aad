# airlock-case: {"expect": "success", "has": "ENOSPC", "never": "BREACH", "limits": {"disk_mib": 8}, "outputs": {}, "note": "space of files that have no name any more still counts against the disk limit"}
import errno
import os

held, done = [], 0
try:
    while done < 64 << 20:
        fd = os.open("/work/ghost", os.O_CREAT | os.O_RDWR)
        held.append(fd)
        os.unlink("/work/ghost")
        done += os.write(fd, b"x" * 262144)
    print("BREACH")
except OSError as e:
    print(errno.errorcode[e.errno], "nameless:", len(held) > 10, "bounded:", done <= 8 << 20)
