# airlock-case: {"expect": "success", "has": "modes set", "outputs": {"all": 1, "dir": null, "gid": 1, "uid": 1}, "dropped": 0, "note": "setuid, setgid, sticky and world-writable bits do not come out: files arrive as 0644, directories as 0755"}
import os

os.mkdir("/out/dir")
for name, mode in (("uid", 0o4755), ("gid", 0o2755), ("all", 0o7777)):
    with open("/out/" + name, "w") as f:
        f.write("x")
    os.chmod("/out/" + name, mode)
os.chmod("/out/dir", 0o7777)
print("modes set", oct(os.stat("/out/uid").st_mode))
