# airlock-case: {"expect": "success", "has": "no preference", "never": "BREACH", "note": "real-time scheduling, a negative nice value or more processors would starve the agent"}
import os

hit = []
for name, action in (("nice", lambda: os.nice(-5)), ("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)), ("user", lambda: os.setpriority(os.PRIO_USER, 1000, -1)),
                     ("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))), ("rr", lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(99))),
                     ("processors", lambda: os.sched_setaffinity(0, {7}))):
    try:
        action()
        hit.append(name)
    except OSError as e:
        print(name, os.strerror(e.errno))
print("BREACH" if hit else "no preference", hit)
