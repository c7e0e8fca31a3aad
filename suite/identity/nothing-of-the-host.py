# airlock-case: {"expect": "success", "has": "nothing told", "never": "TOLD", "note": "kernel command line, mounts, environment, hosts file and kernel release name neither the host, its users, its paths nor the job"}
import os
import re

seen = ""
for path in ("/proc/cmdline", "/proc/self/mountinfo", "/proc/self/environ", "/proc/self/cmdline", "/proc/1/cmdline", "/proc/1/environ", "/etc/hosts", "/etc/hostname",
             "/etc/resolv.conf", "/proc/self/cgroup", "/proc/sys/kernel/core_pattern", "/proc/version", "/etc/fstab", "/etc/mtab", "/proc/modules"):
    try:
        text = open(path, errors="replace").read()
        print(path, len(text) > 0)
        seen += text
    except OSError as e:
        print(path, os.strerror(e.errno))
bad = re.findall(r"/home/|/root/|/srv/|/tmp/st|airlock-sup|slots/|objects/|qemu|token|secret|password|ssh-|machine_id|job=", seen, re.I)
print("TOLD" if bad else "nothing told", bad)
