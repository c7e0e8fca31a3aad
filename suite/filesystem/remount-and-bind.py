# airlock-case: {"expect": "success", "has": "no mount changed", "never": "BREACH", "only": "Node.js has no mount calls and the image no mount program", "note": "mount, remount, bind, move and unmount, by the old and the new calls, are refused and leave the mount table as it was"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
before = open("/proc/self/mountinfo").read()
hit = []
calls = {
    "remount /in": lambda: libc.mount(None, b"/in", None, 32, None),
    "remount /": lambda: libc.mount(None, b"/", None, 32 | 4096, None),
    "bind": lambda: libc.mount(b"/work", b"/in", None, 4096, None),
    "move": lambda: libc.mount(b"/tmp", b"/mnt", None, 8192, None),
    "tmpfs": lambda: libc.mount(b"t", b"/work", b"tmpfs", 0, None),
    "proc": lambda: libc.mount(b"p", b"/work", b"proc", 0, None),
    "cgroup2": lambda: libc.mount(b"c", b"/work", b"cgroup2", 0, None),
    "umount /in": lambda: libc.umount2(b"/in", 2),
    "umount /proc": lambda: libc.umount2(b"/proc", 0),
    "open_tree clone": lambda: libc.syscall(428, -100, b"/", 1),
    "fsopen": lambda: libc.syscall(430, b"tmpfs", 0),
    "mount_setattr": lambda: libc.syscall(442, -100, b"/in", 0, bytes(32), 32),
    "unshare mounts": lambda: libc.unshare(0x00020000),
}
for name, call in calls.items():
    ctypes.set_errno(0)
    if call() >= 0 and name != "mount_setattr":
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
if open("/proc/self/mountinfo").read() != before:
    hit.append("mount table")
print("BREACH" if hit else "no mount changed", hit)
