# airlock-case: {"expect": "sandbox_failure", "has": "off", "never": "STILL HERE", "root": true, "note": "a machine that is halted or switched off reports nothing any more; the host does not wait beyond its limit"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import ctypes
import os
import time

print("off", flush=True)
time.sleep(0.5)
os.sync()
ctypes.CDLL(None).reboot(0x4321FEDC)
print("STILL HERE")
