# airlock-case: {"expect": "success", "has": "nobody reached", "never": "BREACH", "quick": true, "note": "IPv4 connections to public and private addresses fail at once, without waiting for a time-out"}
import errno
import socket
import time

hit, start = [], time.monotonic()
for host in ("1.1.1.1", "8.8.8.8", "93.184.216.34", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "224.0.0.1", "255.255.255.255"):
    for port in (22, 53, 80, 443):
        with socket.socket() as s:
            s.settimeout(5)
            end = errno.errorcode.get(s.connect_ex((host, port)), "connected")
        if end == "connected":
            hit.append((host, port))
    print(host, end)
quick = time.monotonic() - start < 5
print("BREACH" if hit else "nobody reached" if quick else "SLOW", hit)
