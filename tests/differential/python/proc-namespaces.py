# differential: {"varies": [["\\[\\d+\\]", "[N]", "inode numbers are counted by the kernel"]]}
import os

for name in sorted(os.listdir("/proc/self/ns")):
    print(os.readlink(f"/proc/self/ns/{name}"), os.stat(f"/proc/self/ns/{name}").st_ino == os.stat(f"/proc/1/ns/{name}").st_ino
          if os.access(f"/proc/1/ns/{name}", os.R_OK) else "hidden")
print(open("/proc/self/uid_map").read().split(), open("/proc/self/setgroups").read())
