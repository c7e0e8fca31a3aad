# differential: {}
import os
import sys


def ends(what):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        what()
        print("fell off the end of what")
        raise SystemExit(44)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def deep():
    sys.exit(5)


for each in (deep, lambda: os._exit(255), lambda: os.kill(os.getpid(), 15), lambda: sys.exit(True), lambda: 1,
             lambda: os.abort(), lambda: exit(2.5), lambda: quit("x"), lambda: os.kill(os.getpid(), 2)):
    status = ends(each)
    print(status)
