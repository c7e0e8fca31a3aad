# airlock-case: {"expect": "success", "has": "root unchanged", "never": "BREACH", "note": "chroot and pivot_root would let a program climb out of its root; both are refused to it"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
os.mkdir("/work/jail")
try:
    os.chroot("/work/jail")
    hit.append("chroot")
except OSError as e:
    print("chroot", os.strerror(e.errno))
for a, b in ((b".", b"."), (b"/work", b"/work/jail"), (b"/", b"/tmp")):
    if libc.syscall(155, a, b) == 0:
        hit.append("pivot_root")
    print("pivot_root", os.strerror(ctypes.get_errno()))
if not os.path.exists("/proc/self"):
    hit.append("root moved")
print("BREACH" if hit else "root unchanged", hit)
