# airlock-case: {"expect": "sandbox_failure", "has": "unbinding", "never": "STILL HERE", "root": true, "note": "channel, disks and console lose their drivers one after the other; the agent cannot report, and no report is no success"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

print("unbinding", flush=True)
time.sleep(0.5)
for driver in ("virtio_console", "virtio_blk", "virtio-pci"):
    at = f"/sys/bus/{'pci' if '-' in driver else 'virtio'}/drivers/{driver}"
    for device in os.listdir(at) if os.path.isdir(at) else []:
        if os.path.isdir(f"{at}/{device}/driver"):
            with open(at + "/unbind", "w") as f:
                f.write(device)
time.sleep(60)
print("STILL HERE")
