# airlock-case: {"expect":"user_exception","signal":"SIGTERM","stdout":"before\n","note":"a child ends its parent; the parent's end is the program's"}
import os
import signal

print("before", flush=True)
if os.fork() == 0:
    os.kill(os.getppid(), signal.SIGTERM)
    os._exit(0)
while True:
    signal.pause()
