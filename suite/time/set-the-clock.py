# airlock-case: {"expect":"success","stdout":"refused\nstill counting\n","note":"a program that turns the clock back must not gain time","source":"https://github.com/ioi/isolate/issues/178"}
import os
import time

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
started, wall = time.monotonic(), time.time()
for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_TAI):
    try:
        time.clock_settime(clock, 1.0)
        print("set clock", clock)
    except OSError:
        pass
print("refused")
time.sleep(0.2)
if time.time() > wall > 1.7e9 and time.monotonic() - started >= 0.2:
    print("still counting")
