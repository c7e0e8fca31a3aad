# airlock-case: {"expect": "success", "has": "a plain user", "quick": true, "note": "the program runs as user 1000 in group 1000 without supplementary groups, under a name the image knows"}
import os
import pwd

ids = set(os.getresuid() + os.getresgid())
me = pwd.getpwuid(os.getuid())
print(ids, os.getgroups(), me.pw_name, me.pw_dir, os.getcwd())
good = ids == {1000} and os.getgroups() in ([], [1000]) and me.pw_name == "user" and os.getcwd() == "/work"
print("a plain user" if good else "SOMEBODY ELSE")
