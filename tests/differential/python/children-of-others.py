# differential: {}
# Who adopts an orphan, and whether its end is seen.
import os
import time

r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.5)
        os.write(w, str(os.getppid()).encode())
        os._exit(3)
    os._exit(0)
print(os.wait()[1], os.read(r, 10))
try:
    print(os.wait())
except ChildProcessError as error:
    print(error)
