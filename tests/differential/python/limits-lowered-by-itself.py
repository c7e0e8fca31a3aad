# differential: {"verdict": "user_exception", "exit": 1}
import errno
import os
import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
opened = []
try:
    while True:
        opened.append(os.open("/dev/null", 0))
except OSError as error:
    print(opened, errno.errorcode[error.errno])
for fd in opened:
    os.close(fd)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
try:
    os.fork()
except OSError as error:
    print(errno.errorcode[error.errno])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with open("/work/large", "wb", buffering=0) as file:
    print(file.write(b"x" * 5000))
    file.write(b"more")
