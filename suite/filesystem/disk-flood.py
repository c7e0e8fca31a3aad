# airlock-case: {"expect": "success", "has": "ENOSPC", "limits": {"disk_mib": 8}, "outputs": {}, "quick": true, "note": "writing until the disk is full gives ENOSPC near the limit, and the job still ends in order"}
import errno
import os

done, block = 0, b"x" * 65536
fd = os.open("/work/flood", os.O_CREAT | os.O_WRONLY)
try:
    while done < 64 << 20:
        done += os.write(fd, block)
except OSError as e:
    print(errno.errorcode[e.errno], "below the limit:", 4 << 20 < done <= 8 << 20)
for other in ("/tmp/more", "/var/tmp/more"):
    try:
        with open(other, "wb") as f:
            f.write(block * 64)
        print("BREACH", other)
    except OSError as e:
        print(other, errno.errorcode[e.errno])
