# airlock-case: {"expect": "success", "has": "ENAMETOOLONG", "limits": {"out_depth": 20}, "dropped": 0, "note": "a name of 255 bytes and a path of 4000 arrive; one byte more than a name may have is refused inside"}
import errno
import os

with open("/out/" + "n" * 255, "w") as f:
    f.write("x")
os.chdir("/out")
for _ in range(15):
    os.mkdir("d" * 255)
    os.chdir("d" * 255)
with open("f" * 100, "w") as f:
    f.write("x")
try:
    open("/out/" + "n" * 256, "w")
except OSError as e:
    print(errno.errorcode[e.errno])
