# airlock-case: {"expect":"success","stdout":"before\nafter\n","note":"the program shrinks its own pipe and opens it again to read or truncate what is on its way: refused or without effect, and nothing hangs"}
import fcntl
import os

os.write(1, b"before\n")
try:
    fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)
except OSError:
    pass
for place in ("/proc/self/fd/1", "/dev/stdout"):
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_TRUNC))
    except PermissionError:
        pass
os.write(1, b"after\n")
