# airlock-case: {"expect": "success", "has": "nothing of the host", "never": "TOLD", "root": true, "note": "even root of the guest finds no name, path, user, key or environment of the host in its kernel, agent, firmware and devices"}
import glob
import re

seen = b""
for path in ["/proc/1/environ", "/proc/1/cmdline", "/proc/1/mountinfo", "/proc/cmdline", "/proc/mounts", "/proc/keys", "/proc/iomem", "/dev/kmsg"] + \
        glob.glob("/sys/class/dmi/id/*") + glob.glob("/sys/firmware/dmi/tables/*") + glob.glob("/sys/firmware/qemu_fw_cfg/by_name/*/*/raw"):
    try:
        with open(path, "rb", buffering=0) as f:
            if path == "/dev/kmsg":
                continue
            seen += f.read(65536)
    except OSError:
        pass
bad = re.findall(rb"/home/\w+|/work/\w+-|/tmp/\w+|airlock-sup|/slots|/objects|token|secret|password|BEGIN [A-Z ]*KEY|HOSTNAME=|USER=", seen, re.I)
print("TOLD" if bad else "nothing of the host", sorted(set(bad)), len(seen) > 1000)
