# airlock-case: {"expect": "success", "has": "a plain user", "never": "BREACH", "quick": true, "note": "the program is user 1000 in group 1000 without other groups, has no capability, gains none by exec and can become nobody else"}
import os
import pwd
import subprocess

ids = set(os.getresuid() + os.getresgid())
me = pwd.getpwuid(os.getuid())
print(ids, os.getgroups(), me.pw_name, me.pw_dir, os.getcwd())
good = ids == {1000} and os.getgroups() in ([], [1000]) and me.pw_name == "user" and os.getcwd() == "/work"
status = open("/proc/self/status").read() + subprocess.run(["/usr/bin/cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
rights = [line.split() for line in status.splitlines() if line.startswith(("Cap", "NoNewPrivs"))]
good = good and len(rights) == 12 and all(int(v, 16) == (k == "NoNewPrivs:") for k, v in rights)
for name, action in (("setuid", lambda: os.setuid(0)), ("setgid", lambda: os.setgid(0)), ("setresuid", lambda: os.setresuid(0, 0, 0)),
                     ("setgroups", lambda: os.setgroups([0])), ("other user", lambda: os.setuid(65534))):
    try:
        action()
        print("BREACH", name)
    except OSError as e:
        print(name, os.strerror(e.errno))
print("a plain user" if good else "SOMEBODY ELSE", rights)
