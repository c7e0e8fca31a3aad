# differential: {"varies": [["(pipe|socket|anon_inode):\\[\\d+\\]", "\\1:[N]", "inode numbers are counted by the kernel"]]}
import os
import socket

listing = os.open("/proc/self/fd", os.O_RDONLY)
print("listed by", listing)
for fd in sorted(map(int, os.listdir(listing))):
    try:
        print(fd, os.readlink(f"/proc/self/fd/{fd}"))
    except FileNotFoundError:
        print(fd, "was only there for the listing")
os.close(listing)
print([open("/dev/null") .fileno() for _ in range(3)], os.pipe(), os.dup(1), socket.socketpair()[0].fileno())
