# airlock-case: {"expect": "success", "has": "inputs as given", "never": "BREACH", "in": {"given.txt": "given\n"}, "quick": true, "note": "inputs must stay as staged whatever the program does to them"}
import os

tries = {
    "write": lambda p: open(p, "r+").close(), "append": lambda p: open(p, "a").close(), "truncate": lambda p: os.truncate(p, 0),
    "unlink": os.unlink, "rename": lambda p: os.rename(p, "/work/moved"), "replace": lambda p: os.replace("/work/main.py", p),
    "chmod": lambda p: os.chmod(p, 0o777), "chown": lambda p: os.chown(p, 1000, 1000), "utime": lambda p: os.utime(p, (0, 0)),
    "xattr": lambda p: os.setxattr(p, "user.x", b"1"), "new": lambda p: os.mkdir("/in/new"), "rmdir": lambda p: os.rmdir("/in"),
    "link": lambda p: os.link(p, "/in/second"), "symlink": lambda p: os.symlink("/etc", "/in/etc"),
}
hit = []
for name, action in tries.items():
    try:
        action("/in/given.txt")
        hit.append(name)
    except OSError as e:
        print(name, os.strerror(e.errno))
same = open("/in/given.txt").read() == "given\n" and os.listdir("/in") == ["given.txt"]
print("inputs as given" if same and not hit else "BREACH", hit)
