# airlock-case: {"expect": "sandbox_failure", "has": "rebooting", "never": "STILL HERE", "root": true, "note": "a machine that reboots is over: it must not come back and start again, and its end is not the program's success"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import time

print("rebooting", flush=True)
time.sleep(0.5)
os.sync()
ctypes.CDLL(None).reboot(0x01234567)
time.sleep(30)
print("STILL HERE")
