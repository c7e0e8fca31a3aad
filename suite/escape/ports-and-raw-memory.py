# airlock-case: {"expect": "success", "has": "hardware out of reach", "never": "BREACH", "note": "I/O ports, physical memory, firmware variables and model-specific registers cannot be touched"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for name, call in (("iopl", lambda: libc.iopl(3)), ("ioperm", lambda: libc.ioperm(0x80, 1, 1)), ("serial port", lambda: libc.ioperm(0x3F8, 8, 1))):
    if call() == 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/nvram", "/dev/cpu/0/msr", "/dev/cpu/0/cpuid", "/dev/hpet", "/sys/firmware/efi", "/proc/bus/pci/00/00.0"):
    try:
        os.open(path, os.O_RDWR)
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
print("BREACH" if hit else "hardware out of reach", hit)
