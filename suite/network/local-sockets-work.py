# airlock-case: {"expect": "success", "has": "talked to itself", "note": "what stays inside the machine is allowed: socket pairs and sockets with a path on scratch"}
import os
import socket

a, b = socket.socketpair()
a.sendall(b"ping")
first = b.recv(10)
server = socket.socket(socket.AF_UNIX)
server.bind("/work/own.sock")
server.listen()
if os.fork() == 0:
    with socket.socket(socket.AF_UNIX) as c:
        c.connect("/work/own.sock")
        c.sendall(b"pong")
    os._exit(0)
second = server.accept()[0].recv(10)
os.wait()
print("talked to itself" if (first, second) == (b"ping", b"pong") else "SILENT")
