# airlock-case: {"expect": "success", "has": "few blocks", "limits": {"disk_mib": 16}, "outputs": {}, "note": "a file of a terabyte without blocks on scratch is nobody's problem as long as it is no output"}
import os

fd = os.open("/work/huge", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 1 << 40)
for at in (0, 1 << 30, 1 << 39, (1 << 40) - 1):
    os.pwrite(fd, b"x", at)
s = os.fstat(fd)
print("size", s.st_size, "few blocks" if s.st_blocks < 400 else "MANY BLOCKS", os.pread(fd, 4, 1 << 38))
try:
    os.posix_fallocate(fd, 0, 1 << 30)
    print("BREACH")
except OSError as e:
    print("fallocate", os.strerror(e.errno))
