# airlock-case: {"expect": "success", "has": "init goes on", "never": "BREACH", "note": "init would reboot or halt on some signals; the process above the program takes none from it"}
import os
import signal

hit, refused = [], 0
for sig in sorted(signal.valid_signals()):
    try:
        os.kill(1, sig)
        hit.append(sig)
    except OSError:
        refused += 1
print("BREACH" if hit else "init goes on", hit, refused > 50, os.getppid())
