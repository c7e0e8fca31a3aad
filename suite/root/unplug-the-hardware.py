# airlock-case: {"expect": ["sandbox_failure", "timeout"], "has": "unplugging", "never": "STILL HERE", "limits": {"wall_s": 8}, "root": true, "note": "every device on the bus is removed and the bus scanned again, so the monitor sees its devices reset under way"}
import glob
import time

print("unplugging", flush=True)
time.sleep(0.5)
for path in sorted(glob.glob("/sys/bus/pci/devices/*/remove"), reverse=True):
    try:
        with open(path, "w") as f:
            f.write("1")
    except OSError:
        pass
with open("/sys/bus/pci/rescan", "w") as f:
    f.write("1")
time.sleep(60)
print("STILL HERE")
