# differential: {}
import os
import time

start = time.monotonic(), time.perf_counter(), time.time(), time.process_time(), time.thread_time()
for name in ("monotonic", "perf_counter", "process_time", "thread_time", "time"):
    print(time.get_clock_info(name))
time.sleep(0.05)
after = time.monotonic(), time.perf_counter(), time.time(), time.process_time(), time.thread_time()
print([0 <= b - a < 30 for a, b in zip(start, after)], after[0] - start[0] >= 0.05)
open("now", "w").close()
print(abs(os.stat("now").st_mtime - time.time()) < 5, abs(os.stat("main.py").st_mtime - time.time()) < 300)
print(abs(time.time() - start[2]) < 60, time.gmtime(0), time.localtime(0).tm_zone, time.get_clock_info("time").adjustable)
print(0 < time.clock_gettime(time.CLOCK_BOOTTIME) < 3e8, float(open("/proc/uptime").read().split()[0]) > 0)
print(0 <= time.process_time() < 60, [0 <= t < 60 for t in os.times()[:2]])
