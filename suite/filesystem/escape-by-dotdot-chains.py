# airlock-case: {"expect": "success", "has": "the top is the top", "never": "BREACH", "note": "long chains of .., from paths and from open directories, must stop at the job's root"}
import os

root = os.stat("/")
hit = []
for path in ("/..", "/../../../..", "/work" + "/.." * 1000, "/in/../../../../etc/..", "/usr/bin/../../../..", "/dev/shm/../../../../../.."):
    s = os.stat(path)
    if (s.st_dev, s.st_ino) != (root.st_dev, root.st_ino):
        hit.append(path[:40])
fd = os.open("/work", os.O_PATH | os.O_DIRECTORY)
for _ in range(100):
    up = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=fd)
    os.close(fd)
    fd = up
s = os.fstat(fd)
if (s.st_dev, s.st_ino) != (root.st_dev, root.st_ino):
    hit.append("openat")
for base in ("/work", "/in", "/out", "/tmp"):
    os.chdir(base)
    os.chdir("../" * 50)
    if os.getcwd() != "/":
        hit.append(os.getcwd())
print("BREACH" if hit else "the top is the top", hit)
