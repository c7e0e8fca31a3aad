# airlock-case: {"expect":"success","stdout":"nice refused\nfifo refused\nidle\n","note":"a program may step back, never forward: no real-time class and no higher priority","source":"https://github.com/e2b-dev/E2B/issues/412"}
import os

for name, call in (("nice", lambda: os.nice(-1)),
                   ("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))):
    try:
        call()
        print(name, "granted")
    except PermissionError:
        print(name, "refused")
os.nice(19)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("idle")
