# airlock-case: {"expect":"timeout","which":"wall","limits":{"wall_s":2,"cpu_s":60,"pids":32,"mem_mib":384},"note":"the program starts itself twice and waits: new images by exec, not mere copies"}
import os
import subprocess
import sys
import time

if os.getuid() == 0:
    raise SystemExit("for a sandbox only")
print("generation", flush=True)
for _ in range(2):
    try:
        subprocess.Popen([sys.executable, __file__])
    except OSError:
        pass
time.sleep(600)
