# airlock-case: {"expect": "success", "has": "known mounts", "note": "the mount table is the documented one: nothing of the host, nothing executable as another user, inputs read-only"}
flags = {}
for line in open("/proc/self/mountinfo"):
    part = line.split()
    flags[part[4]] = part[5].split(",")
places = {p for p in flags if not p.startswith("/proc/")}
print(sorted(places))
good = places == {"/", "/dev", "/dev/shm", "/in", "/work", "/out", "/tmp", "/var/tmp", "/proc"}
good = good and all("nosuid" in f for f in flags.values()) and "ro" in flags["/in"] and "ro" in flags["/proc"]
good = good and all("nodev" in flags[p] for p in places - {"/dev"})
print("known mounts" if good else "OTHER MOUNTS", flags)
