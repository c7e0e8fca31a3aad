# airlock-case: {"expect": "success", "has": "no device to dial with", "never": "BREACH", "note": "devices that make network interfaces or serial lines (tun, ppp, vhost, virtual consoles) have no node"}
import os

hit = []
for path in ("/dev/net/tun", "/dev/ppp", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/ttyS0", "/dev/hvc0", "/dev/vport0p1", "/dev/vport1p1",
             "/dev/virtio-ports/airlock", "/dev/console", "/dev/tty0", "/dev/ttyUSB0", "/dev/uinput", "/dev/fuse", "/dev/kvm"):
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
print("BREACH" if hit else "no device to dial with", hit)
