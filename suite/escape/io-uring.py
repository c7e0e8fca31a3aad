# airlock-case: {"expect": "success", "has": "the same rights", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "asynchronous I/O rings must give no rights beyond those of the plain calls, whether they exist or not"}
import ctypes
import mmap
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
params = ctypes.create_string_buffer(120)
ring = libc.syscall(425, 4, params)
if ring < 0:
    print("none:", os.strerror(ctypes.get_errno()))
    print("the same rights")
    raise SystemExit
sq = struct.unpack_from("10I", params.raw, 40)  # head tail mask entries flags dropped array
cq = struct.unpack_from("10I", params.raw, 80)  # head tail mask entries overflow cqes
rings = mmap.mmap(ring, 4096)
entries = mmap.mmap(ring, 4096, offset=0x10000000)
hit, tried = [], 0
for n, path in enumerate((b"/etc/planted", b"/in/planted", b"/proc/1/mem", b"/dev/kmsg")):
    name = ctypes.create_string_buffer(path)
    entries[0:64] = struct.pack("=BBHiQQIIQ", 18, 0, 0, -100, 0, ctypes.addressof(name), 0o644, os.O_RDWR | os.O_CREAT, n).ljust(64, b"\0")  # openat
    struct.pack_into("I", rings, sq[6] + 4 * (n & 3), 0)
    struct.pack_into("I", rings, sq[1], n + 1)
    libc.syscall(426, ring, 1, 1, 1, None, 0)
    result = struct.unpack_from("i", rings, cq[5] + 16 * n + 8)[0]
    tried += struct.unpack_from("I", rings, cq[1])[0] == n + 1
    struct.pack_into("I", rings, cq[0], n + 1)  # taken
    if result >= 0:
        hit.append(path)
    print(path, os.strerror(-result) if result < 0 else "opened")
print("BREACH" if hit else "the same rights" if tried == 4 else "NOTHING TRIED", hit)
