# airlock-case: {"expect": "success", "has": "closed", "outputs": {"shut": null, "shut/in": null, "shut/in/file": 6, "top": 6}, "dropped": 0, "note": "files and directories without any permission are the program's own and are collected all the same"}
import os

os.makedirs("/out/shut/in")
for path in ("/out/shut/in/file", "/out/top"):
    with open(path, "w") as f:
        f.write("closed")
    os.chmod(path, 0)
os.chmod("/out/shut/in", 0)
os.chmod("/out/shut", 0)
os.chmod("/out", 0)
print("closed")
