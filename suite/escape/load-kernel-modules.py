# airlock-case: {"expect": "success", "has": "nothing loaded", "never": "BREACH", "note": "loading and unloading kernel code, directly or by making the kernel call its helper, is refused"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
fd = os.memfd_create("module")
os.write(fd, b"\x7fELF" + bytes(200))
for name, call in (("init_module", lambda: libc.syscall(175, bytes(200), 200, b"")), ("finit_module", lambda: libc.syscall(313, fd, b"", 3)),
                   ("delete_module", lambda: libc.syscall(176, b"virtio_console", 0o4000)), ("kexec_load", lambda: libc.syscall(246, 0, 0, None, 0)),
                   ("kexec_file_load", lambda: libc.syscall(320, fd, fd, 0, None, 0))):
    if call() >= 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
for path in ("/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/proc/sys/kernel/usermodehelper/bset"):
    try:
        open(path, "w").write("/work/main.py")
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
with open("/work/odd", "wb") as f:
    f.write(b"\xde\xad\xbe\xef" * 8)  # an unknown format makes the kernel ask its helper for binfmt-XXXX
os.chmod("/work/odd", 0o755)
try:
    os.execv("/work/odd", ["odd"])
except OSError as e:
    print("odd format", os.strerror(e.errno))
print("BREACH" if hit else "nothing loaded", hit)
