# airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

line = b"\x1b]0;owned\x07Kernel pan1c - not really: " * 64
for path in ("/dev/ttyS0", "/dev/kmsg"):
    fd = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        os.write(fd, line[:900])
print("console flooded")
