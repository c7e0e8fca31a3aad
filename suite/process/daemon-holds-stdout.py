# airlock-case: {"expect":"success","stdout":"main done\n","limits":{"wall_s":3},"quick":true,"note":"a daemon keeps stdout open for an hour: waiting for the end of file would hang, and the daemon has to die","source":"https://github.com/ponylang/ponyc/issues/5764"}
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
        print("an hour later", flush=True)
    os._exit(0)
os.wait()
print("main done", flush=True)
