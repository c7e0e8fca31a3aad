# airlock-case: {"expect": "success", "has": "modules tried", "root": true, "only": "Node.js has no module calls and the image no tools for them", "note": "false modules are loaded and used ones unloaded by force; the guest's kernel decides, the host does not notice"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
fd = os.memfd_create("junk")
os.write(fd, b"\x7fELF" + bytes(4096))
for name, args in (("junk", (313, fd, b"", 0)), ("junk by force", (313, fd, b"", 3)), ("init_module", (175, bytes(4096), 4096, b""))):
    print(name, libc.syscall(*args), os.strerror(ctypes.get_errno()))
for line in open("/proc/modules").read().splitlines():
    name, size, users = line.split()[:3]
    if users != "0":
        print(name, libc.syscall(176, name.encode(), 0o4000), os.strerror(ctypes.get_errno()))
print("modules tried")
