# airlock-case: {"expect": "success", "has": "as given", "limits": {"vcpus": 2, "mem_mib": 192}, "note": "processors and memory as a runtime counts them are those of the job, not of the host, or pools and heaps grow too large"}
import os
import re

counts = [os.cpu_count(), len(os.sched_getaffinity(0)), os.sysconf("SC_NPROCESSORS_ONLN"), os.sysconf("SC_NPROCESSORS_CONF"),
          open("/proc/cpuinfo").read().count("processor\t:"), len(re.findall(r"^cpu\d", open("/proc/stat").read(), re.M))]
total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
swap = open("/proc/swaps").read().splitlines()[1:]
print(counts, total, swap, "as given" if set(counts) == {2} and 192 <= total <= 320 and not swap else "DIFFERENT")
