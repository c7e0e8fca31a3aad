# airlock-case: {"expect": "success", "has": "watched only itself", "never": "BREACH", "only": "Node.js has no leases, and its watches do not tell who opened a file", "note": "watches and leases on files of the image must neither report nor block what others do with them"}
import ctypes
import fcntl
import os
import select

libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
for path in (b"/", b"/etc", b"/usr/bin", b"/dev", b"/in", b"/out"):
    libc.inotify_add_watch(fd, path, 0xFFF & ~0x1)
hit = ["event"] if select.select([fd], [], [], 0.5)[0] else []
for path in ("/etc/passwd", "/usr/bin/cat", "/in"):
    at = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(at, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
print("BREACH" if hit else "watched only itself", hit)
