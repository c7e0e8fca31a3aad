# airlock-case: {"expect":"success","stdout":"child died by 9\nalive\n","quick":true,"note":"kill(-1) reaches everything the program may signal: that must be its own processes and nothing of the sandbox","source":"https://github.com/vm0-ai/vm0/issues/31040"}
import os
import signal

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
pid = os.fork()
if pid == 0:
    signal.pause()
os.kill(-1, signal.SIGKILL)
print("child died by", os.WTERMSIG(os.waitpid(pid, 0)[1]))
print("alive")
