# airlock-case: {"expect": "success", "has": "nothing counted", "never": "BREACH", "only": "Node.js cannot make system calls of its choice", "note": "counters and trace points of the kernel or of other processes would tell addresses and secrets"}
import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for name, kind, config, pid, cpu, flags in (("cycles with kernel", 0, 0, 0, -1, 0), ("whole processor", 1, 0, -1, 0, 0), ("trace point", 2, 1, 0, -1, 0),
                                            ("of pid 1", 1, 0, 1, -1, 0x60), ("breakpoint in kernel", 5, 0, 0, -1, 0)):
    attr = ctypes.create_string_buffer(struct.pack("=IIQQQQQ", kind, 112, config, 1000, 0, 0, flags), 112)
    ctypes.set_errno(0)
    if libc.syscall(298, attr, pid, cpu, -1, 0) >= 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
print(open("/proc/sys/kernel/perf_event_paranoid").read().strip())
print("BREACH" if hit else "nothing counted", hit)
