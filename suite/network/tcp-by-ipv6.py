# airlock-case: {"expect": "success", "has": "nobody reached", "never": "BREACH", "note": "filters often forget IPv6: global, link-local, unique-local and mapped addresses are out of reach too"}
import errno
import socket

hit = []
for host in ("2606:4700:4700::1111", "2001:4860:4860::8888", "fd00::1", "fe80::1%lo", "ff02::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "fd00:ec2::254"):
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect(socket.getaddrinfo(host, 443, flags=socket.AI_NUMERICHOST)[0][4])
            hit.append(host)
    except OSError as e:
        print(host, errno.errorcode.get(e.errno, e))
print("BREACH" if hit else "nobody reached", hit)
