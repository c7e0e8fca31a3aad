# airlock-case: {"expect":"success","stdout":"60 orphans\n","limits":{"pids":8},"note":"orphans go to the namespace's first process, which has to reap them or the limit fills up","source":"https://github.com/superradcompany/microsandbox/pull/1212"}
import os
import time

orphans = 0
for attempt in range(3000):
    pid = os.fork()
    if pid == 0:
        try:
            if os.fork() == 0:
                while os.getppid() != 1:
                    time.sleep(0.001)
                os._exit(0)
        except OSError:  # the last ones are not reaped yet
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        orphans += 1
    else:
        time.sleep(0.01)
    if orphans == 60:
        break
print(orphans, "orphans")
