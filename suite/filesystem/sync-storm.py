# airlock-case: {"expect": "success", "has": "synced", "outputs": {"synced": 800}, "note": "hundreds of flushes to the virtual disk, file by file and whole, neither hang the machine nor outlive it"}
import os

fd = os.open("/out/synced", os.O_CREAT | os.O_WRONLY)
for n in range(200):
    os.write(fd, b"%03d\n" % n)
    os.fsync(fd)
    if n % 50 == 0:
        os.sync()
print("synced", n + 1)
