# airlock-case: {"expect": ["success", "sandbox_failure"], "has": "ruined", "limits": {"disk_mib": 16}, "root": true, "note": "the file system under work and outputs is overwritten while mounted; collection fails or finds rubbish, the host parses only the stream"}
import os

with open("/out/result", "wb") as f:
    f.write(b"x" * 100000)
os.sync()
disk = next(d for d in os.listdir("/sys/block") if d.startswith("vd") and open(f"/sys/block/{d}/serial").read().strip() == "airlock-scratch")
print("ruined", flush=True)
fd = os.open("/dev/" + disk, os.O_RDWR)
for at in range(0, 16 << 20, 65536):
    os.pwrite(fd, b"\xff" * 65536, at)
os.fsync(fd)
with open("/proc/sys/vm/drop_caches", "w") as f:
    f.write("3")
