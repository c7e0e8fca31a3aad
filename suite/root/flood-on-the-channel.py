# airlock-case: {"expect": "output_overflow", "which": "stdout", "out_bytes": 102400, "limits": {"out_kib": 100}, "root": true, "only": "Node.js cannot take another process's descriptor, and the port opens only once", "note": "whoever speaks for the agent is bound by the same cap on stdout, which the host counts"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, 1, 0, 0)
os.waitpid(1, 0x40000000)
at = next(int(fd) for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
port = libc.syscall(438, os.pidfd_open(1), at, 0)
for sequence in range(2, 100):
    data = struct.pack("<IHHII", 0x316B6C61, 18, 0, 50000, sequence) + b"x" * 50000
    while data:
        try:
            data = data[os.write(port, data):]
        except BlockingIOError:
            time.sleep(0.01)
time.sleep(60)
