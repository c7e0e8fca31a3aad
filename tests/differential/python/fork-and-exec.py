# differential: {}
import os
import sys

print("twice, it is in the buffer when the process forks")
pid = os.fork()
if pid == 0:
    print("child", os.getpid() - os.getppid(), os.getpgrp() == os.getppid())
    sys.stdout.flush()
    os.execv(sys.executable, ["another name", "-c", "import sys; print(sys.orig_argv, sys.argv)"])
print(pid - os.getpid(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
r, w = os.pipe()
if os.fork() == 0:
    os.dup2(w, 1)
    os.execlp("sh", "sh", "-c", "ls /proc/self/fd | wc -l")
os.close(w)
print(os.read(r, 100), os.wait()[1])
