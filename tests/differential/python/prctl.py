# differential: {}
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
word = ctypes.c_int(-5)
print("pdeathsig", libc.prctl(2, ctypes.byref(word)), word.value)
for name, number in (("dumpable", 3), ("keepcaps", 7), ("timing", 13), ("seccomp", 21), ("tsc", 25), ("securebits", 27),
                     ("timerslack", 30), ("no new privs", 39), ("subreaper", 37), ("thp", 42), ("io flusher", 58)):
    word.value = -5
    value = libc.prctl(number, ctypes.byref(word) if number in (25, 37) else 0, 0, 0, 0)
    print(name, value, errno.errorcode.get(ctypes.get_errno()) if value < 0 else word.value)
    ctypes.set_errno(0)
name = ctypes.create_string_buffer(16)
libc.prctl(16, name)
print(name.value, libc.personality(0xffffffff), libc.getpid() == os.getpid(), libc.ptrace(0, 0, 0, 0))
print([libc.capget(ctypes.byref(ctypes.c_uint64(0x20080522)), ctypes.create_string_buffer(24))])
