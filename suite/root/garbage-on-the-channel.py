# airlock-case: {"expect": "sandbox_failure", "has": "sending", "events": ["protocol_error"], "root": true, "only": "Node.js cannot take another process's descriptor, and the port opens only once", "note": "bytes that are no frame end the channel at the first of them"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import time

print("sending", flush=True)
time.sleep(0.5)
libc = ctypes.CDLL(None, use_errno=True)
at = next(int(fd) for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
port = libc.syscall(438, os.pidfd_open(1), at, 0)
os.write(port, b"GET / HTTP/1.1\r\nHost: supervisor\r\n\r\n" * 4)
time.sleep(60)
