# airlock-case: {"expect": "success", "has": "nothing beyond", "never": "BREACH", "limits": {"disk_mib": 32}, "root": true, "note": "the scratch device looks larger than the disk limit; blocks past the limit are refused by the host"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os

disk = next(d for d in os.listdir("/sys/block") if d.startswith("vd") and open(f"/sys/block/{d}/serial").read().strip() == "airlock-scratch")
fd = os.open("/dev/" + disk, os.O_RDWR)
end = os.lseek(fd, 0, os.SEEK_END)
hit = []
for at in (end, 32 << 20, 64 << 20, 1 << 30, end - 4096):
    try:
        os.pwrite(fd, b"x" * 4096, at)
        os.fsync(fd)
        hit.append(at)
    except OSError as e:
        print(at, os.strerror(e.errno))
print("BREACH" if hit else "nothing beyond", hit)
