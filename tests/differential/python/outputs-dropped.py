# differential: {}
import os

os.symlink("/etc/passwd", "/out/link")
os.mkfifo("/out/fifo")
open("/out/kept", "w").write("kept")
print("a link and a pipe are left behind")
