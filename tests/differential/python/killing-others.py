# differential: {"verdict": "user_exception", "exit": 1}
import os

for pid in (1, 0x7ffffff0):
    try:
        os.kill(pid, 9)
        print(pid, "no error")
    except OSError as error:
        print(pid, error)
print(open("/proc/1/environ").read())
