# airlock-case: {"expect": "success", "has": "links made", "outputs": {"plain": 5}, "dropped": 7, "quick": true, "note": "links to files of host and guest in the outputs are dropped and listed; nothing is ever read through them"}
import os

for name, target in (("passwd", "/etc/passwd"), ("shadow", "/etc/shadow"), ("rel", "../../../../etc/passwd"), ("env", "/proc/self/environ"),
                     ("tree", "/"), ("zero", "/dev/zero"), ("gone", "/no/such/file")):
    os.symlink(target, "/out/" + name)
with open("/out/plain", "w") as f:
    f.write("plain")
print("links made")
