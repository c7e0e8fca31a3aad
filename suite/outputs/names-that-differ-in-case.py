# airlock-case: {"expect": "success", "has": "four names", "note": "on a file system that ignores case the second of these would replace the first"}
import os

for name in ("readme", "README", "ReadMe", "stra\u00dfe"):
    with open("/out/" + name, "w") as f:
        f.write(name)
print("four names" if len(os.listdir("/out")) == 4 else "MERGED")
