# airlock-case: {"expect": "output_overflow", "which": "output_depth", "has": "levels", "limits": {"out_files": 4000}, "outputs": {}, "note": "a tree far deeper than any path is long must neither exhaust the collector's stack nor stay unremoved"}
import os

os.chdir("/out")
for n in range(1500):
    os.mkdir("d")
    os.chdir("d")
print("levels", n + 1)
