# airlock-case: {"expect": "user_exception", "signal": "SIGSEGV", "has": "crashing", "outputs": {}, "root": true, "note": "the kernel starts a program of root's choice for a core; it runs in the agent's world, which has no such file"}
import os
import resource

with open("/work/helper", "w") as f:
    f.write("#!/bin/sh\necho here >/out/core\n")
os.chmod("/work/helper", 0o755)
with open("/proc/sys/kernel/core_pattern", "w") as f:
    f.write("|/work/helper")
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("crashing", flush=True)
os.kill(os.getpid(), 11)
