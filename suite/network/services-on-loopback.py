# airlock-case: {"expect": "success", "has": "no service", "never": "BREACH", "note": "neither services of the host nor of the guest's own agent listen on the loopback addresses"}
import socket

hit = []
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.53"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):
    for port in list(range(1, 1100)) + [2375, 2376, 3306, 5432, 5900, 6379, 6443, 8000, 8080, 9090, 10250, 11211, 27017]:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(2)
            if s.connect_ex((host, port)) == 0:
                hit.append((host, port))
for table in ("tcp", "tcp6", "udp", "udp6", "raw"):
    listed = open(f"/proc/net/{table}").read().splitlines()[1:]
    hit += [(table, line.split()[1]) for line in listed if line.split()[3] == "0A"]
print("BREACH" if hit else "no service", hit)
