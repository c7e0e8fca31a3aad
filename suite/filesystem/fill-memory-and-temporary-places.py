# airlock-case: {"expect": "success", "has": "all bounded", "never": "BREACH", "limits": {"mem_mib": 160, "disk_mib": 8}, "outputs": {}, "note": "/dev/shm is bounded by half the memory limit, /tmp and /var/tmp share the disk limit, nothing else takes bytes"}
import errno
import os

bounds = {"/dev/shm": 80 << 20, "/tmp": 8 << 20, "/var/tmp": 8 << 20, "/run": 0, "/dev": 0}
block = bytes(1 << 20)
for place, bound in bounds.items():
    done, end = 0, "none"
    try:
        with open(place + "/fill", "wb", buffering=0) as f:
            while done <= 2 * bound:
                done += f.write(block)
    except OSError as e:
        end = errno.errorcode[e.errno]
    print(place, end)
    if end == "none" or done > bound:
        print("BREACH", place, done)
    if os.path.exists(place + "/fill"):
        os.unlink(place + "/fill")
print("all bounded")
