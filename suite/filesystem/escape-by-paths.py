# airlock-case: {"expect": "success", "has": "same root everywhere", "never": "BREACH", "note": "chains of .. stop at the job's root, and the magic links of /proc (root, cwd, fd) lead nowhere else; those of other processes are closed"}
import os

root = os.stat("/")
hit = []
for path in ("/..", "/work" + "/.." * 1000, "/in/../../../etc/..", "/dev/shm/../../../../..", "/proc/self/root", "/proc/self/root/..", "/proc/self/task/self/root", "/proc/thread-self/root/../..",
             "/proc/self/cwd/../../..", f"/proc/{os.getppid()}/root", "/proc/1/root", "/proc/1/cwd", "/proc/1/root/proc/1/root",
             "/proc/1/fd/0", "/proc/1/exe", "/proc/1/task/1/root", "/proc/2/../1/cwd", "/proc/3/root"):
    try:
        there = os.stat(path)
        if (there.st_dev, there.st_ino) != (root.st_dev, root.st_ino):
            hit.append(path)
        print(path[:40], "own root")
    except OSError as e:
        print(path, os.strerror(e.errno))
print("BREACH" if hit else "same root everywhere", hit)
