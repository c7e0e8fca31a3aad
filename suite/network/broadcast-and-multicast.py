# airlock-case: {"expect": "success", "has": "nobody called", "never": "BREACH", "note": "discovery by broadcast and multicast (mDNS, SSDP, DHCP) finds neither neighbours nor the host"}
import errno
import socket

hit = []
for host, port in (("255.255.255.255", 67), ("224.0.0.251", 5353), ("239.255.255.250", 1900), ("10.0.2.255", 137), ("224.0.0.1", 9)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try:
            s.sendto(b"anyone?", (host, port))
            hit.append(host)
        except OSError as e:
            print(host, errno.errorcode[e.errno])
print("BREACH" if hit else "nobody called", hit)
