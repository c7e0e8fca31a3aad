# airlock-case: {"expect": "success", "has": "in place", "never": "BREACH", "outputs": {"real": 4}, "note": "the directory of the outputs cannot be removed, renamed or replaced by a link to something else"}
import os

hit = []
for name, action in (("rmdir", lambda: os.rmdir("/out")), ("rename", lambda: os.rename("/out", "/work/out")),
                     ("over", lambda: os.rename("/tmp/other", "/out")), ("link", lambda: os.symlink("/etc", "/out")),
                     ("unlink", lambda: os.unlink("/out")), ("in /", lambda: os.rename("/out", "/away"))):
    os.makedirs("/tmp/other", exist_ok=True)
    try:
        action()
        hit.append(name)
    except OSError as e:
        print(name, os.strerror(e.errno))
with open("/out/real", "w") as f:
    f.write("real")
print("BREACH" if hit else "in place", hit)
