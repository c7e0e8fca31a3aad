# airlock-case: {"expect": "success", "has": "no secret read", "never": "BREACH", "quick": true, "note": "password hashes, kernel memory, kernel log and addresses, keys and raw devices must give no byte to the program"}
import os

PATHS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh/id_rsa", "/proc/kcore", "/proc/kmsg", "/proc/kallsyms",
         "/proc/iomem", "/proc/keys", "/proc/timer_list", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/dev/mem", "/dev/kmem",
         "/dev/kmsg", "/dev/vda", "/dev/vdb", "/dev/vdc", "/dev/port", "/sys/kernel/notes", "/sys/firmware/dmi/tables/DMI",
         "/proc/self/pagemap", "/var/lib/dpkg/lock")
hit = []
for path in PATHS:
    try:
        with open(path, "rb", buffering=0) as f:
            data = f.read(64)
        if data.strip(b"\0"):  # a masked file reads as empty, a page map without rights as zeros
            hit.append(path)
        print(path, "empty" if not data else "zeros")
    except OSError as e:
        print(path, os.strerror(e.errno))
print("BREACH" if hit else "no secret read", hit)
