# airlock-case: {"expect": "success", "has": "no switch moved", "never": "BREACH", "note": "each of the kernel's several hundred switches in /proc/sys is tried; none opens for writing"}
import os

hit, tried = [], 0
for base, dirs, files in os.walk("/proc/sys"):
    for name in files:
        tried += 1
        try:
            os.close(os.open(os.path.join(base, name), os.O_WRONLY))
            hit.append(os.path.join(base, name))
        except OSError:
            pass
print("BREACH" if hit or tried < 300 else "no switch moved", hit[:5], "more than 300 tried:", tried > 300)
