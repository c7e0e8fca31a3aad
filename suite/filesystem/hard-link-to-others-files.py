# airlock-case: {"expect": "success", "has": "no foreign file linked", "never": "BREACH", "in": {"given.txt": "given\n"}, "outputs": {}, "note": "a hard link would carry a file of the image or of the inputs into the outputs"}
import os
import sys

hit = []
for path in ("/etc/passwd", "/etc/shadow", "/in/given.txt", sys.executable, "/proc/self/exe", "/proc/self/environ", "/proc/1/environ", "/dev/null"):
    for to in ("/out/taken", "/work/taken", "/tmp/taken", "/dev/shm/taken"):
        for follow in (True, False):
            try:
                os.link(path, to, follow_symlinks=follow)
                if not os.path.islink(to):
                    hit.append((path, to))
                os.unlink(to)
            except OSError as e:
                print(path, to, os.strerror(e.errno))
print("BREACH" if hit else "no foreign file linked", hit)
