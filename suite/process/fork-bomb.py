# airlock-case: {"expect":"timeout","which":"wall","limits":{"wall_s":2,"cpu_s":60},"quick":true,"note":"the classic: whoever kills one process after another never catches up with it","source":"https://github.com/superradcompany/microsandbox/issues/494"}
import os

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
print("lit", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        pass
