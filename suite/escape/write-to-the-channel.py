# airlock-case: {"expect": "success", "has": "no way to the channel", "never": "BREACH", "quick": true, "note": "the port between agent and host has no node, no descriptor and no number by which the program could reach it"}
import os
import stat

hit = []
for path in ("/dev/vport0p1", "/dev/vport1p1", "/dev/vport2p1", "/dev/vport3p1", "/dev/virtio-ports/airlock", "/dev/hvc0", "/dev/ttyS0", "/dev/ttyS1", "/dev/console"):
    try:
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
for major in range(200, 256):  # where the kernel hands out numbers for virtio ports
    try:
        os.mknod("/work/port", stat.S_IFCHR | 0o600, os.makedev(major, 1))
        hit.append(major)
    except OSError:
        pass
hit += [n for n in os.listdir("/dev") if n not in ("null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm", "mqueue")]
print("BREACH" if hit else "no way to the channel", hit)
