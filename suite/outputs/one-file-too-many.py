# airlock-case: {"expect": "output_overflow", "which": "output_files", "has": "made", "limits": {"out_files": 10}, "outputs": {}, "note": "directories, links and empty files all count against the number of entries"}
import os

for n in range(4):
    os.mkdir(f"/out/dir{n}")
    open(f"/out/dir{n}/empty", "w").close()
for n in range(3):
    os.symlink("x", f"/out/link{n}")
print("made 11")
