# airlock-case: {"expect":"success","stdout":"15 dead, then EAGAIN\nforked again\n","events":["pids_refused"],"limits":{"pids":16},"note":"dead children that nobody waits for fill the limit until they are reaped","source":"https://github.com/superradcompany/microsandbox/pull/1212"}
import errno
import os

dead = 0
try:
    while dead < 1000:
        if os.fork() == 0:
            os._exit(0)
        dead += 1
except OSError as e:
    print(dead, "dead, then", errno.errorcode[e.errno], flush=True)
for _ in range(dead):
    os.wait()
if os.fork() == 0:
    os._exit(0)
os.wait()
print("forked again")
