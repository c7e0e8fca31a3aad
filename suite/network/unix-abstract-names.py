# airlock-case: {"expect": "success", "has": "no foreign name", "never": "BREACH", "note": "abstract socket names ignore the file system, so only the network namespace keeps them apart"}
import socket

own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
own.bind("\0own-name")
own.listen()
names = [line.split()[7] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7]
hit = [n for n in names if n != "@own-name"]
for name in ("\0/tmp/.X11-unix/X0", "\0/tmp/dbus-1", "\0@/containerd-shim", "\0/org/kernel/linux/storage/multipathd", "\0airlock", "\0snapd", "\0\0"):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        if s.connect_ex(name) == 0:
            hit.append(repr(name))
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
    s.connect("\0own-name")
print("BREACH" if hit else "no foreign name", hit)
