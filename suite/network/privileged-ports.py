# airlock-case: {"expect": "success", "has": "no low port", "never": "BREACH", "note": "ports below 1024 stay closed to a program without rights"}
import errno
import socket

hit = []
for port in (1, 22, 53, 80, 443, 1023):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind(("0.0.0.0", port))
                hit.append(port)
            except OSError as e:
                print(port, errno.errorcode[e.errno])
print("BREACH" if hit else "no low port", hit)
