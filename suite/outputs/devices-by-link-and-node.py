# airlock-case: {"expect": "success", "has": "no node", "outputs": {}, "dropped": 5, "note": "device nodes cannot be made among the outputs; links to devices are dropped, so nothing endless is read"}
import os
import stat

for name in ("zero", "random", "full", "tty", "stdin"):
    os.symlink("/dev/" + name, "/out/" + name)
made = 0
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod("/out/node", kind | 0o644, os.makedev(1, 5))
        made += 1
    except OSError as e:
        print(os.strerror(e.errno))
print("BREACH" if made else "no node")
