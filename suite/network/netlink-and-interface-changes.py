# airlock-case: {"expect": "success", "has": "nothing changed", "never": "BREACH", "only": "Node.js has no netlink sockets and no ioctl", "note": "netlink and ioctl could raise an interface, add a route or listen to the kernel; all need rights the program has not"}
import errno
import fcntl
import socket
import struct

hit = []
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
for name, kind, body in (("newlink", 16, struct.pack("=BxHiII", 0, 0, 1, 1, 1)), ("newaddr", 20, struct.pack("=BBBBI", 2, 8, 0, 0, 1)),
                         ("newroute", 24, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0))):
    route.send(struct.pack("=IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
    answer = route.recv(4096)
    code = struct.unpack_from("=i", answer, 16)[0]
    print(name, errno.errorcode.get(-code, code))
    if code == 0:
        hit.append(name)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for name, call, data in (("up", 0x8914, struct.pack("16sh14x", b"lo", 1)), ("address", 0x8916, struct.pack("16sHH4s8x", b"lo", 2, 0, b"\x7f\0\0\1"))):
        try:
            fcntl.ioctl(s, call, data)
            hit.append(name)
        except OSError as e:
            print(name, errno.errorcode[e.errno])
for family in (9, 15, 16):  # audit, kobject events, generic: multicast needs rights, opening may not
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family) as s:
            s.settimeout(0.1)
            s.bind((0, 0))
            print("family", family, "opened, silent:", s.getsockopt(1, 3) == 2)
    except OSError as e:
        print("family", family, errno.errorcode[e.errno])
print("BREACH" if hit else "nothing changed", hit)
