# airlock-case: {"expect":"success","stdout":"before\nafter\n","note":"the program opens its own stdout for reading and shrinks the pipe: it can only harm itself, and nothing hangs"}
import fcntl
import os

os.write(1, b"before\n")
try:
    fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)
except OSError:
    pass
os.set_blocking(1, False)
os.close(os.open("/proc/self/fd/1", os.O_WRONLY | os.O_TRUNC | os.O_APPEND))
os.write(1, b"after\n")
