# airlock-case: {"expect": "success", "has": "nothing sent", "never": "BREACH", "note": "UDP has no connection to refuse, so data leaks by the first packet; sending has to fail"}
import errno
import socket

hit = []
for family, host in ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET, "10.0.2.3"), (socket.AF_INET, "192.168.0.1"), (socket.AF_INET6, "2001:4860:4860::8888")):
    for port in (53, 123, 443, 514):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            try:
                s.sendto(b"leak", (host, port))
                hit.append((host, port))
            except OSError as e:
                print(host, port, errno.errorcode[e.errno])
print("BREACH" if hit else "nothing sent", hit)
