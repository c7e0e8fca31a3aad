# airlock-case: {"expect": "success", "has": "special files made", "outputs": {}, "dropped": 3, "note": "opening a FIFO blocks and a socket cannot be read; both are dropped without being opened"}
import os
import socket

os.mkfifo("/out/fifo")
os.mkfifo("/out/closed", 0)
socket.socket(socket.AF_UNIX).bind("/out/socket")
print("special files made")
