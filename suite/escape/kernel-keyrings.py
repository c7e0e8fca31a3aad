# airlock-case: {"expect": "success", "has": "no foreign key", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "keyrings are not part of any namespace but the user's; nothing of the agent's lies in one the program can reach"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
buf = ctypes.create_string_buffer(4096)
for ring in (-1, -2, -3, -4, -5, -7):
    got = libc.syscall(250, 11, ring, buf, 4096)
    print(ring, "holds", got if got >= 0 else os.strerror(ctypes.get_errno()))
for serial in range(1, 1000):  # guessed numbers: a key that may be looked at says whose it is
    if libc.syscall(250, 6, serial, buf, 4096) > 0 and buf.value.split(b";")[1] != b"1000":
        hit.append(buf.value)
for kind, name in ((b"user", b"airlock"), (b"logon", b"airlock"), (b"asymmetric", b"")):
    if libc.syscall(249, kind, name, None, -3) >= 0:
        hit.append(name)
print("BREACH" if hit else "no foreign key", hit)
