# airlock-case: {"expect": "success", "has": "no bpf", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "programs and maps in the kernel are a rich source of kernel bugs; the call is closed"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
maps = (ctypes.c_uint32 * 32)(2, 4, 8, 1)
code = (ctypes.c_uint64 * 2)(0xB7, 0x95)  # r0 = 0; exit
gpl = ctypes.create_string_buffer(b"GPL")
program = (ctypes.c_uint64 * 16)(1 | 2 << 32, ctypes.addressof(code), ctypes.addressof(gpl))
for name, command, attr in (("map", 0, maps), ("socket filter", 5, program), ("object by path", 7, maps), ("btf", 18, maps)):
    ctypes.set_errno(0)
    if libc.syscall(321, command, attr, ctypes.sizeof(attr)) >= 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
print("BREACH" if hit else "no bpf", hit)
