# airlock-case: {"expect": "success", "has": "no wire", "never": "BREACH", "root": true, "note": "with every right in the guest there is still no device: only loopback, and what root makes up itself leads nowhere"}
import errno
import os
import socket

devices = [n for n in os.listdir("/sys/class/net") if n != "lo"]
pci = {open(f"/sys/bus/pci/devices/{d}/class").read().strip()[:4] for d in os.listdir("/sys/bus/pci/devices")} if os.path.isdir("/sys/bus/pci/devices") else set()
hit = devices + [c for c in pci if c == "0x02"]
packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)
packet.setblocking(False)
for host in ("10.0.2.2", "169.254.169.254", "8.8.8.8"):
    with socket.socket() as s:
        s.settimeout(3)
        end = s.connect_ex((host, 80))
    print(host, errno.errorcode.get(end))
    if end == 0:
        hit.append(host)
print("BREACH" if hit else "no wire", hit, sorted(pci))
