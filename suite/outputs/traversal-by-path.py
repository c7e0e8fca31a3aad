# airlock-case: {"expect": "success", "has": "stayed inside", "outputs": {"fine": 4}, "dropped": 0, "note": "paths with .. and doubled slashes resolve inside the guest; no name that climbs can come out"}
import os

os.mkdir("/out/sub")
for path in ("/out/sub/../fine", "/out/../work/climbed", "/out/..//tmp/climbed", "/out/./sub/.././fine"):
    with open(path, "w") as f:
        f.write("text")
os.rmdir("/out/sub")
for path in ("/out/../climbed", "/out/../../etc/climbed"):
    try:
        open(path, "w").close()
        print("BREACH", path)
    except OSError as e:
        print(path, os.strerror(e.errno))
print("stayed inside", os.listdir("/out"))
