# airlock-case: {"expect": "success", "outputs": {"copy.txt": 5, "more/empty": 0}, "dropped": ["not a regular file"], "in": {"word.txt": "input"}, "args": ["word.txt"], "quick": true, "note": "inputs arrive, files come out, a link does not"}
import os
import sys

with open(os.path.join("/in", sys.argv[1])) as given, open("/out/copy.txt", "w") as copy:
    copy.write(given.read())
os.mkdir("/out/more")
open("/out/more/empty", "w").close()
os.symlink("/etc/passwd", "/out/link")
