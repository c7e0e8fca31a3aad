# differential: {"verdict": "success", "has": "main.py"}
for name in ("cmdline", "environ", "comm"):
    with open("/proc/self/" + name, "rb") as file:
        print(name, file.read())
with open("/proc/self/mountinfo") as file:
    print(sorted(line.split()[4:6] for line in file))
