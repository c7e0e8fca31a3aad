# airlock-case: {"expect": "success", "has": "a small machine", "limits": {"mem_mib": 128}, "note": "the program sees a machine of its limit and a fixed margin, not the host's memory, and no swap"}
import os

info = {}
for line in open("/proc/meminfo"):
    name, _, value = line.partition(":")
    info[name] = int(value.split()[0]) >> 10
pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
print(info["MemTotal"], pages, info["SwapTotal"])
print("a small machine" if 128 <= info["MemTotal"] <= 256 and pages == info["MemTotal"] and info["SwapTotal"] == 0 else "ODD SIZE")
