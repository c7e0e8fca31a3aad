# differential: {"env": {"FIRST": "1", "second_one": "two words", "EMPTY": "", "UNI": "\u00e9\u4e2d", "A": "=x=y"}}
import os
import subprocess

for name, value in os.environ.items():
    print(repr(name), repr(value))
print(os.environb[b"UNI"], os.getenv("NOT_THERE"), os.getenvb(b"A"))
os.environ["ADDED_HERE"] = "yes"
del os.environ["FIRST"]
os.putenv("BY_PUTENV", "1")
print(subprocess.run(["env"], capture_output=True, text=True).stdout)
