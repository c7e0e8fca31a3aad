# airlock-case: {"expect": "success", "has": "ids of its own", "note": "machine id and boot id are there, well-formed, different from each other and not constants of the image"}
import re

machine = open("/etc/machine-id").read().strip()
boot = open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", "")
fresh = open("/proc/sys/kernel/random/uuid").read().strip().replace("-", "")
print(machine, boot)
good = all(re.fullmatch("[0-9a-f]{32}", x) and len(set(x)) > 6 for x in (machine, boot, fresh)) and len({machine, boot, fresh}) == 3
print("ids of its own" if good else "BAD IDS")
