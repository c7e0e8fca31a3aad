# airlock-case: {"expect": "success", "has": "levels", "limits": {"inodes": 4000}, "outputs": {}, "note": "a tree of thousand levels on scratch, deeper than recursive removal likes, ends with the machine"}
import os

os.chdir("/work")
for n in range(1000):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").close()
up = 0
while not os.path.exists("main.py"):
    os.chdir("..")
    up += 1
print("levels", up)
