# airlock-case: {"expect": "success", "has": "both refused", "never": "BREACH", "in": {"given.txt": "given\n"}, "root": true, "note": "the disks with image and inputs are read-only outside the guest, so its root cannot write them either"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os

hit = []
for disk in sorted(os.listdir("/sys/block")):
    if not disk.startswith("vd") or open(f"/sys/block/{disk}/serial").read().strip() == "airlock-scratch":
        continue
    try:
        with open(f"/sys/block/{disk}/ro", "w") as f:
            f.write("0")
    except OSError as e:
        print(disk, "ro", os.strerror(e.errno))
    try:
        fd = os.open("/dev/" + disk, os.O_RDWR | os.O_SYNC)
        os.pwrite(fd, b"ruined", 0)
        hit.append(disk)
    except OSError as e:
        print(disk, os.strerror(e.errno))
print("BREACH" if hit else "both refused", hit, open("/in/given.txt").read().strip())
