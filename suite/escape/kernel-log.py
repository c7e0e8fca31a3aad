# airlock-case: {"expect": "success", "has": "log closed", "never": "BREACH", "note": "the kernel's log tells addresses, can be flooded and carries the agent's complaints; it is neither read nor written"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
buf = ctypes.create_string_buffer(4096)
for command in (2, 3, 4, 5, 6, 8, 9):
    if libc.klogctl(command, buf, 4096) >= 0:
        hit.append(command)
for path, mode in (("/dev/kmsg", "w"), ("/dev/kmsg", "r"), ("/proc/kmsg", "r"), ("/dev/log", "w"), ("/dev/console", "w"), ("/proc/sys/kernel/printk", "w")):
    try:
        f = open(path, mode)
        if mode == "w" or f.read(1):
            hit.append((path, mode))
    except OSError as e:
        print(path, mode, os.strerror(e.errno))
print("BREACH" if hit else "log closed", hit)
