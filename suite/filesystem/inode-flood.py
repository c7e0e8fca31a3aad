# airlock-case: {"expect": "success", "has": "ENOSPC", "limits": {"inodes": 200}, "outputs": {}, "note": "empty files cost no blocks; their number is bounded all the same"}
import errno
import os

made = 0
try:
    while made < 5000:
        os.close(os.open(f"/work/{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as e:
    print(errno.errorcode[e.errno], "about the limit:", 190 <= made <= 200)
for n in range(made):
    os.unlink(f"/work/{n}")
open("/work/again", "w").close()
print("room again")
