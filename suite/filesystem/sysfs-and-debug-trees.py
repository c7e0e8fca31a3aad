# airlock-case: {"expect": "success", "has": "nothing to see", "never": "BREACH", "note": "sysfs, debugfs, tracefs, cgroupfs and the like show the machine's insides; none of them is there"}
import os

hit = []
for path in ("/sys", "/sys/kernel", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/cgroup", "/sys/fs/bpf",
             "/sys/firmware", "/sys/class", "/sys/class/virtio-ports", "/sys/bus/pci", "/sys/module", "/proc/bus/pci", "/proc/acpi",
             "/proc/scsi", "/proc/fs/ext4", "/dev/pts", "/dev/mqueue", "/dev/hugepages", "/proc/sys/fs/binfmt_misc"):
    try:
        names = os.listdir(path)
        print(path, len(names))
        if names and path.startswith(("/sys", "/dev")):
            hit.append(path)
    except OSError as e:
        print(path, os.strerror(e.errno))
kinds = {line.split(" - ")[1].split()[0] for line in open("/proc/self/mountinfo")}
hit += sorted(kinds - {"overlay", "tmpfs", "squashfs", "ext4", "proc"})
print("BREACH" if hit else "nothing to see", hit)
