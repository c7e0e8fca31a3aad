# airlock-case: {"expect": ["sandbox_failure", "success"], "has": "poking", "limits": {"wall_s": 10}, "root": true, "note": "the classic reset, power and debug ports of a PC are written; a machine that resets is over, one that lacks them goes on"}
import os
import time

print("poking", flush=True)
time.sleep(0.5)
fd = os.open("/dev/port", os.O_WRONLY)
for port, value in ((0xF4, b"\0"), (0x501, b"\0"), (0x64, b"\xfe"), (0xCF9, b"\x06"), (0x92, b"\1"), (0xB004, b"\0\x20"), (0x604, b"\0\x20"), (0x600, b"\x34")):
    os.pwrite(fd, value, port)
time.sleep(1)
print("no such port")
