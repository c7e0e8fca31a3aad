# airlock-case: {"expect": "success", "has": "powerless", "note": "all five capability sets are empty and no privilege can be gained by exec, in the program and in its children"}
import subprocess

text = open("/proc/self/status").read() + subprocess.run(["/usr/bin/cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
lines = [line.split() for line in text.splitlines() if line.startswith(("Cap", "NoNewPrivs"))]
print(lines)
good = len(lines) == 12 and all(int(v, 16) == (k == "NoNewPrivs:") for k, v in lines)
print("powerless" if good else "POWERS")
