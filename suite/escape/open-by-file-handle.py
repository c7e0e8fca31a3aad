# airlock-case: {"expect": "success", "has": "handles refused", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "a file handle names an inode without a path, past every mount and root; opening one needs a right the program has not"}
import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for path in (b"/work", b"/out", b"/in", b"/", b"/dev/shm"):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    got = libc.syscall(303, -100, path, handle, ctypes.byref(mount), 0)
    print(path, "handle" if got == 0 else os.strerror(ctypes.get_errno()))
    at = os.open(path, os.O_RDONLY)
    for inode in (0, 1, 2, 11, 12):  # its own, and guesses of what lies beside or above
        if inode:
            struct.pack_into("IiII", handle, 0, 8, 1, inode, 0)
        if libc.syscall(304, at, handle, os.O_RDONLY) >= 0:
            hit.append((path, inode))
print(os.strerror(ctypes.get_errno()))
print("BREACH" if hit else "handles refused", hit)
