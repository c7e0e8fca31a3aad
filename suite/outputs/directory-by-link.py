# airlock-case: {"expect": "success", "has": "written through", "outputs": {"kept": 4}, "dropped": 2, "note": "files written through a link to another directory are outside the outputs and stay there"}
import os

os.mkdir("/tmp/elsewhere")
os.symlink("/tmp/elsewhere", "/out/dir")
os.symlink("/in", "/out/inputs")
for path in ("/out/dir/hidden", "/out/kept"):
    with open(path, "w") as f:
        f.write("text")
print("written through", os.listdir("/out/dir"))
