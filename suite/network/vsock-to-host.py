# airlock-case: {"expect": "success", "has": "no vsock", "never": "BREACH", "only": "Node.js has no vsock sockets", "note": "vsock reaches hosts past every network rule; there is no such device here"}
import errno
import socket

hit = []
for cid in (0, 1, 2, 3, 0xFFFFFFFF):
    for port in (22, 52, 1024, 9999, 10000):
        try:
            with socket.socket(40, socket.SOCK_STREAM) as s:
                s.settimeout(5)
                s.connect((cid, port))
                hit.append((cid, port))
        except OSError as e:
            end = errno.errorcode[e.errno]
    print(cid, end)
for path in ("/dev/vsock", "/dev/vhost-vsock"):
    try:
        open(path, "rb").close()
        hit.append(path)
    except OSError as e:
        print(path, errno.errorcode[e.errno])
print("BREACH" if hit else "no vsock", hit)
