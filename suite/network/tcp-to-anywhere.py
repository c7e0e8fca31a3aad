# airlock-case: {"expect": "success", "has": "nobody reached", "never": "BREACH", "quick": true, "note": "connections to public and private addresses, to the gateways of emulators and to the metadata services of clouds fail at once, without waiting for a time-out"}
import errno
import socket
import time

hit, start = [], time.monotonic()
for host in ("1.1.1.1", "8.8.8.8", "10.0.0.1", "192.168.1.1", "10.0.2.2", "10.0.2.3", "172.17.0.1", "192.168.122.1", "192.168.127.1", "169.254.169.254",
             "169.254.170.2", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255"):
    for port in (22, 53, 80, 443, 2375):
        with socket.socket() as s:
            s.settimeout(5)
            end = errno.errorcode.get(s.connect_ex((host, port)), "connected")
        if end == "connected":
            hit.append((host, port))
    print(host, end)
quick = time.monotonic() - start < 5
print("BREACH" if hit else "nobody reached" if quick else "SLOW", hit)
