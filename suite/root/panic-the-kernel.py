# airlock-case: {"expect": "sandbox_failure", "has": "panicking", "never": "STILL HERE", "events": ["kernel_panic"], "root": true, "quick": true, "note": "a kernel that panics takes the agent with it; the monitor may end with status 0 then, which is no success"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import time

print("panicking", flush=True)
time.sleep(0.5)
with open("/proc/sysrq-trigger", "w") as f:
    f.write("c")
time.sleep(30)
print("STILL HERE")
