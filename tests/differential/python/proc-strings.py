# differential: {"verdict": "success", "args": ["one", "", "zwei w\u00f6rter"], "env": {"EMPTY": "", "GIVEN": "gr\u00fcn = 1"}, "has": "GIVEN"}
import os

for name in ("cmdline", "environ", "comm"):
    with open("/proc/self/" + name, "rb") as file:
        print(name, file.read())
print(sorted(os.environb))
print(os.popen("cat /proc/$PPID/cmdline | tr '\\0' '|'").read())
