# airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

line = b"\x1b]0;owned\x07Kernel pan1c - not really: " * 64


def flood(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        os.write(fd, data[:900])


try:
    flood("/dev/ttyS0", line)
except OSError as reason:  # a serial port that can only transmit has no driver
    print("no driver:", reason)
with open("/proc/sys/kernel/printk_devkmsg", "w") as switch:
    switch.write("on\n")
flood("/dev/kmsg", b"<0>" + line)  # so urgent that the kernel prints it
print("console flooded")
