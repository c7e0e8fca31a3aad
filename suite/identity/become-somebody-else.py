# airlock-case: {"expect": "success", "has": "still user 1000", "never": "BREACH", "note": "every call that changes user or group identity is refused"}
import os

hit = []
for name, action in (("setuid", lambda: os.setuid(0)), ("setgid", lambda: os.setgid(0)), ("seteuid", lambda: os.seteuid(0)),
                     ("setresuid", lambda: os.setresuid(0, 0, 0)), ("setresgid", lambda: os.setresgid(0, 0, 0)),
                     ("setgroups", lambda: os.setgroups([0])), ("initgroups", lambda: os.initgroups("root", 0)),
                     ("other user", lambda: os.setuid(65534)), ("other group", lambda: os.setregid(5, 5))):
    try:
        action()
        hit.append(name)
    except OSError as e:
        print(name, os.strerror(e.errno))
print("BREACH" if hit or os.getuid() != 1000 else "still user 1000", hit)
