# airlock-case: {"expect": "success", "has": "closed", "outputs": {"shut/in/file": 6, "suid": 1, "top": 6}, "dropped": 0, "note": "files and directories without any permission are collected all the same; setuid, setgid and open modes come out as plain ones"}
import os

os.makedirs("/out/shut/in")
for path in ("/out/shut/in/file", "/out/top"):
    with open(path, "w") as f:
        f.write("closed")
    os.chmod(path, 0)
with open("/out/suid", "w") as f:
    f.write("x")
os.chmod("/out/suid", 0o7777)
os.chmod("/out/shut/in", 0)
os.chmod("/out/shut", 0)
os.chmod("/out", 0)
print("closed")
