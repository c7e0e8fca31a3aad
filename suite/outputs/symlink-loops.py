# airlock-case: {"expect": "success", "has": "loops made", "outputs": {"dir/file": 1}, "dropped": 6, "note": "links that lead to themselves, to each other or to the directory above must not send the collector round and round"}
import os

os.symlink("self", "/out/self")
os.symlink("b", "/out/a")
os.symlink("a", "/out/b")
os.mkdir("/out/dir")
os.symlink("..", "/out/dir/up")
os.symlink(".", "/out/dir/here")
os.symlink("/out/dir", "/out/again")
with open("/out/again/file", "w") as f:
    f.write("x")
print("loops made")
