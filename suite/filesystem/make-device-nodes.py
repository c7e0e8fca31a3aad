# airlock-case: {"expect": "success", "has": "no device made", "never": "BREACH", "note": "nodes for disks, memory and consoles cannot be made anywhere, on scratch or in /dev"}
import os
import stat

hit = []
for where in ("/work", "/tmp", "/dev", "/dev/shm", "/out"):
    for kind, major, minor in ((stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 4, 64), (stat.S_IFCHR, 10, 1), (stat.S_IFCHR, 1, 3)):
        try:
            os.mknod(f"{where}/node-{major}-{minor}", kind | 0o666, os.makedev(major, minor))
            hit.append((where, major, minor))
        except OSError as e:
            print(where, major, minor, os.strerror(e.errno))
print("BREACH" if hit else "no device made", hit)
