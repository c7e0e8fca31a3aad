# airlock-case: {"expect": "success", "has": "paths are bounded", "outputs": {}, "note": "names over 255 bytes and paths over 4096 are refused as such, and a tree deeper than any path can be left behind"}
import errno
import os

seen = []
for path in ("/work/" + "n" * 256, "/work/" + "d/" * 2100, "/" * 4100 + "work", "/in/" + "x" * 100000):
    try:
        os.open(path, os.O_RDONLY)
        seen.append("opened")
    except OSError as e:
        seen.append(errno.errorcode[e.errno])
os.chdir("/work")
for _ in range(40):  # 40 * 201 bytes: twice as long as any path may be
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
with open("bottom", "w") as f:
    f.write("x")
try:
    os.getcwd()
    seen.append("cwd")
except OSError as e:
    seen.append(errno.errorcode[e.errno])
print(seen)
print("paths are bounded" if set(seen[:4]) == {"ENAMETOOLONG"} else "UNEXPECTED")
