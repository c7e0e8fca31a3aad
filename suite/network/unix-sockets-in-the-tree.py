# airlock-case: {"expect": "success", "has": "no foreign socket", "never": "BREACH", "note": "no socket of a container engine, system bus, log or agent lies anywhere in the tree"}
import os
import socket
import stat

hit = []
for path in ("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/dev/log",
             "/run/podman/podman.sock", "/tmp/.X11-unix/X0", "/run/crio/crio.sock", "/run/airlock.sock", "/run/snapd.socket"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as s:
            if s.connect_ex(path) == 0:
                hit.append(path)
for base, dirs, files in os.walk("/"):
    if base in ("/proc", "/usr"):
        dirs[:] = []
        continue
    hit += [os.path.join(base, n) for n in files if stat.S_ISSOCK(os.lstat(os.path.join(base, n)).st_mode)]
print("BREACH" if hit else "no foreign socket", hit)
