# airlock-case: {"expect": "success", "has": "left swapping", "note": "a child that turns a file into a link and back for ever is dead before anything is looked at"}
import os

with open("/out/file", "w") as f:
    f.write("file")
os.symlink("/etc/passwd", "/out/link")
os.link("/out/file", "/out/thing")
if os.fork() == 0:
    os.setsid()
    while True:
        for kind in ("link", "file"):
            os.link("/out/" + kind, "/out/next", follow_symlinks=False)
            os.rename("/out/next", "/out/thing")
            if os.path.lexists("/out/next"):  # the same file already: rename does nothing
                os.unlink("/out/next")
print("left swapping")
