# airlock-case: {"expect": "success", "has": "all say 2", "limits": {"vcpus": 2}, "note": "every way to count processors gives what the job was given, or thread pools are sized for the host"}
import os
import re

counts = [os.cpu_count(), len(os.sched_getaffinity(0)), os.sysconf("SC_NPROCESSORS_ONLN"), os.sysconf("SC_NPROCESSORS_CONF"),
          open("/proc/cpuinfo").read().count("processor\t:"), len(re.findall(r"^cpu\d", open("/proc/stat").read(), re.M))]
print(counts, "all say 2" if set(counts) == {2} else "DISAGREE")
