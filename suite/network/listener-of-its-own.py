# airlock-case: {"expect": "success", "has": "heard by nobody else", "note": "a program may listen, but nothing beyond its own machine can hear; the loopback device is down and stays down"}
import errno
import socket

for host in ("0.0.0.0", "127.0.0.1"):
    with socket.socket() as server:
        server.bind((host, 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.socket() as client:
            client.settimeout(2)
            end = client.connect_ex(("127.0.0.1", port))
        print(host, "bound:", port > 0, "own connection:", errno.errorcode.get(end, "made"))
flags = open("/proc/net/dev").read().count(":")
print("heard by nobody else" if flags == 1 else "MORE INTERFACES")
