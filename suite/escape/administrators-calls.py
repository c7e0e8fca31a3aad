# airlock-case: {"expect": "success", "has": "all refused", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "two dozen system calls for administrators, from reboot to quotas, each refused for lack of rights"}
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)
zero = bytes(256)
calls = {"reboot": (169, ctypes.c_uint(0xFEE1DEAD), 672274793, 0x01234567, None), "power off": (169, ctypes.c_uint(0xFEE1DEAD), 672274793, 0x4321FEDC, None),
         "acct": (163, b"/work/acct"), "swapon": (167, b"/work/main.py", 0), "swapoff": (168, b"/work/main.py"), "quotactl": (179, 0x800002 << 8, b"/dev/vdc", 0, zero),
         "sethostname": (170, b"x", 1), "setdomainname": (171, b"x", 1), "vhangup": (153,), "chroot": (161, b"/work"), "pivot_root": (155, b"/", b"/work"),
         "mount": (165, b"x", b"/work", b"tmpfs", 0, None), "umount": (166, b"/work", 0), "settimeofday": (164, zero, None), "iopl": (172, 3),
         "open by handle": (304, 3, zero, 0), "lookup dcookie": (212, 1, zero, 10), "syslog clear": (103, 5, None, 0), "setns": (308, 0, 0),
         "kexec": (246, 0, 0, None, 0), "fsopen": (430, b"tmpfs", 0), "io priority": (251, 1, 1, 1 << 13)}
hit = []
for name, args in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(*args) >= 0:
        hit.append(name)
    print(name, errno.errorcode.get(ctypes.get_errno()))
print("BREACH" if hit else "all refused", hit)
