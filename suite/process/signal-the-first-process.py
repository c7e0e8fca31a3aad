# airlock-case: {"expect":"success","stdout":"parent 1\nsent 0\n","note":"the first process of the namespace belongs to the sandbox; not one signal may reach it","source":"https://github.com/vm0-ai/vm0/issues/31040"}
import os
import signal

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
sent = 0
for number in signal.valid_signals():
    try:
        os.kill(1, number)
        sent += 1
    except PermissionError:
        pass
print("parent", os.getppid())
print("sent", sent)
