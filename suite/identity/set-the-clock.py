# airlock-case: {"expect": "success", "has": "clock kept", "never": "BREACH", "note": "the guest's clock cannot be set, shifted or slewed by a program without rights"}
import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
hit = []
for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_TAI):
    try:
        time.clock_settime(clock, 1.0)
        hit.append(clock)
    except OSError as e:
        print(clock, os.strerror(e.errno))
for name, call in (("settimeofday", lambda: libc.settimeofday((ctypes.c_long * 2)(1, 0), None)),
                   ("adjtimex", lambda: libc.adjtimex((ctypes.c_long * 26)(1, 1)))):
    if call() >= 0:
        hit.append(name)
    print(name, os.strerror(ctypes.get_errno()))
print("BREACH" if hit or time.gmtime().tm_year < 2025 else "clock kept", hit)
