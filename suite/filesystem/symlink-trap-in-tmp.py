# airlock-case: {"expect": "success", "has": "no trap sprung", "never": "BREACH", "outputs": {}, "note": "links planted in the shared sticky directories must not turn a later write into one at their target"}
import os

hit = []
targets = ("/etc/passwd", "/etc/ld.so.preload", "/usr/bin/python3", "/in/x", "/proc/sys/kernel/core_pattern", "/root/x")
for place in ("/tmp", "/var/tmp", "/work", "/dev/shm"):
    for n, target in enumerate(targets):
        link = f"{place}/trap{n}"
        os.symlink(target, link)
        try:
            os.close(os.open(link, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
            hit.append(link + " to " + target)
        except OSError as e:
            print(link, target, os.strerror(e.errno))
        try:
            os.open(link, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)
            hit.append(link)
        except OSError:
            pass
print("BREACH" if hit else "no trap sprung", hit)
