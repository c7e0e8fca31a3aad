# airlock-case: {"expect": "success", "has": "clock runs", "note": "the date is a real one and goes on, and the uptime is that of a machine made for this job"}
import time

wall, mono = time.time(), time.monotonic()
while time.monotonic() - mono < 0.3:
    pass
step = time.time() - wall
up = float(open("/proc/uptime").read().split()[0])
boot = time.clock_gettime(time.CLOCK_BOOTTIME)
print(time.gmtime(wall).tm_year, round(step, 2), "up less than ten minutes:", up < 600, boot < 600)
print("clock runs" if 2025 <= time.gmtime(wall).tm_year < 2100 and step > 0.2 and up < 600 and boot < 600 else "ODD CLOCK")
