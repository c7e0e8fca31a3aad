# differential: {"known": "/proc/self/maps shows the libraries of modules loaded ahead"}
# The files that are mapped, and how the heap is named: not where.
names = []
for line in open("/proc/self/maps"):
    parts = line.split()
    if len(parts) > 5 and parts[5] not in names:
        names.append(parts[5])
print("\n".join(names))
