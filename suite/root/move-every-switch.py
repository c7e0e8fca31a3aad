# airlock-case: {"expect": "success", "has": "switches moved", "root": true, "note": "the switches and the clock of the guest's kernel are its own: caches dropped, protections off, decades forward and back, and the job still ends in order"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

moved = 0
for name, value in (("vm/drop_caches", "3"), ("vm/overcommit_memory", "1"), ("vm/swappiness", "0"), ("kernel/sysrq", "1"), ("kernel/kptr_restrict", "0"),
                    ("kernel/dmesg_restrict", "0"), ("kernel/perf_event_paranoid", "-1"), ("kernel/randomize_va_space", "0"), ("kernel/printk", "8 8 8 8"),
                    ("kernel/panic", "0"), ("kernel/panic_on_oops", "0"), ("user/max_user_namespaces", "1000"), ("fs/protected_symlinks", "0"),
                    ("kernel/pid_max", "400"), ("net/ipv4/ip_forward", "1"), ("vm/compact_memory", "1")):
    try:
        with open("/proc/sys/" + name, "w") as f:
            f.write(value)
        moved += 1
    except OSError as e:
        print(name, os.strerror(e.errno))
for year in (2000, 2060, 1980, 2030):
    time.clock_settime(time.CLOCK_REALTIME, (year - 1970) * 365.25 * 86400)
print("switches moved", moved > 8, time.gmtime().tm_year)
