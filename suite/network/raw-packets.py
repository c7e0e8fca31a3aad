# airlock-case: {"expect": "success", "has": "no raw packet", "never": "BREACH", "only": "Node.js has no raw or packet sockets", "note": "packet and raw sockets forge whole frames and echo requests; both need rights the program has not"}
import errno
import socket

hit = []
for name, args in (("packet raw", (17, 3, 0x0300)), ("packet datagram", (17, 2, 0x0300)), ("icmp raw", (2, 3, 1)), ("raw ip", (2, 3, 255)),
                   ("icmp echo", (2, 2, 1)), ("icmp6 raw", (10, 3, 58)), ("icmp6 echo", (10, 2, 58)), ("udp raw", (2, 3, 17))):
    try:
        socket.socket(*args).close()
        hit.append(name)
    except OSError as e:
        print(name, errno.errorcode[e.errno])
print("BREACH" if hit else "no raw packet", hit)
