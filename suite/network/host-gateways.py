# airlock-case: {"expect": "success", "has": "no gateway", "never": "BREACH", "note": "addresses at which emulators and container engines usually show the host to its guests"}
import errno
import socket

hit = []
for host in ("10.0.2.2", "10.0.2.3", "10.0.2.4", "172.17.0.1", "192.168.122.1", "192.168.64.1", "192.168.127.1", "169.254.1.1", "172.16.0.1"):
    for port in (22, 111, 2049, 2375, 5900, 8080):
        with socket.socket() as s:
            s.settimeout(5)
            end = s.connect_ex((host, port))
        if end == 0:
            hit.append((host, port))
    print(host, errno.errorcode.get(end))
print("BREACH" if hit else "no gateway", hit)
