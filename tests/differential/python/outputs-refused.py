# differential: {"verdict": "output_rejected"}
import os

os.symlink("/etc/passwd", "/out/link")
print("a link is left behind")
