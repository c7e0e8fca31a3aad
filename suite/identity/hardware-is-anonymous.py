# airlock-case: {"expect": "success", "has": "anonymous", "note": "serial numbers, firmware tables, bus and disk identities of the machine are not shown to the program"}
import glob
import os

hit = []
for pattern in ("/sys/class/dmi/id/*", "/sys/firmware/*", "/sys/block/*", "/proc/scsi/*", "/proc/ide/*", "/sys/devices/*", "/dev/disk/*/*", "/dev/vd*", "/dev/sd*", "/dev/nvme*"):
    hit += [p for p in glob.glob(pattern) if not os.path.isdir(p) or os.listdir(p)]
serial = [line for line in open("/proc/cpuinfo") if "serial" in line.lower()]
print("anonymous" if not hit and not serial else "KNOWN", hit, serial)
