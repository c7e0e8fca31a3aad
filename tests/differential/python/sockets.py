# differential: {}
import errno
import os
import socket

a, b = socket.socketpair()
b.sendall(b"over a pair")
print(a.recv(100), a.family, socket.gethostname(), socket.has_ipv6)
server = socket.socket(socket.AF_UNIX)
server.bind("/tmp/s")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("/tmp/s")
print(server.accept()[1], client.getpeername(), oct(os.stat("/tmp/s").st_mode))
for where in (("127.0.0.1", 9), ("10.1.2.3", 80), ("::1", 9)):
    try:
        socket.create_connection(where, 2)
    except OSError as error:
        print(where, type(error).__name__, errno.errorcode.get(error.errno), error)
try:
    socket.getaddrinfo("example.org", 80)
except OSError as error:
    print(error)
print(socket.if_nameindex())
