# airlock-case: {"expect": "success", "stdout": "still running\n", "note": "the kernel's emergency keys crash, reboot and power off; writing them has no effect for the program"}
for key in "hsumwcob":
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/sysrq"):
        try:
            with open(path, "w") as f:
                f.write(key)
        except OSError:
            pass
print("still running")
