# airlock-case: {"expect": ["success", "timeout", "sandbox_failure"], "has": "sleeping", "limits": {"wall_s": 6}, "root": true, "note": "a suspended machine answers nothing and would wait for a key for ever; the wall limit does not sleep"}
import os

print("sleeping", flush=True)
for path, value in (("/sys/power/state", "freeze"), ("/sys/power/state", "mem"), ("/sys/power/disk", "reboot"), ("/sys/power/state", "disk")):
    try:
        with open(path, "w") as f:
            f.write(value)
    except OSError as e:
        print(path, value, os.strerror(e.errno), flush=True)
