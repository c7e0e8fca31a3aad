# airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import itertools
import os
import time

line = b"\x1b]0;owned\x07Kernel pan1c - not really: " * 64


def flood(write):
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        write()


try:
    fd = os.open("/dev/ttyS0", os.O_WRONLY | os.O_NOCTTY)
    flood(lambda: os.write(fd, line[:900]))
except OSError:  # a serial port that can only transmit has no driver: its register, then
    fd = os.open("/dev/port", os.O_WRONLY)
    characters = itertools.cycle(line)
    flood(lambda: os.pwrite(fd, bytes([next(characters)]), 0x3F8))
fd = os.open("/dev/kmsg", os.O_WRONLY)
flood(lambda: os.write(fd, line[:900]))
print("console flooded")
