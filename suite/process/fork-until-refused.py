# airlock-case: {"expect":"success","stdout":"15 children, then EAGAIN\n","events":["pids_refused"],"limits":{"pids":16},"quick":true,"note":"the limit on processes is exact, the program is told, and goes on"}
import errno
import os
import signal

children = 0
try:
    while children < 1000:
        if os.fork() == 0:
            signal.pause()
        children += 1
except OSError as e:
    print(children, "children, then", errno.errorcode[e.errno])
