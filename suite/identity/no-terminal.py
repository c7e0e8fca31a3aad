# airlock-case: {"expect": "success", "has": "no terminal", "never": "BREACH", "note": "without a controlling terminal nothing can be typed into it on behalf of the caller"}
import fcntl
import os
import termios

hit = [fd for fd in (0, 1, 2) if os.isatty(fd)]
for path in ("/dev/tty", "/dev/console", "/dev/ptmx", "/dev/tty1"):
    try:
        os.open(path, os.O_RDWR)
        hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
for fd in (0, 1, 2):
    try:
        fcntl.ioctl(fd, termios.TIOCSTI, b"x")
        hit.append("typed")
    except OSError as e:
        print(fd, os.strerror(e.errno))
print("BREACH" if hit else "no terminal", hit)
