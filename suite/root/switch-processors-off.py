# airlock-case: {"expect": "success", "has": "switched", "limits": {"vcpus": 2}, "root": true, "note": "a processor is taken offline and brought back while the machine runs; limits and report go on"}
for value in "0101":
    with open("/sys/devices/system/cpu/cpu1/online", "w") as f:
        f.write(value)
print("switched", open("/sys/devices/system/cpu/online").read().strip())
