# differential: {"varies": [["tmp[a-z0-9_]{8}", "tmpN", "random by design"]]}
import os
import tempfile

print(tempfile.tempdir, tempfile.gettempdir(), tempfile.gettempprefix())
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    print(file.name, oct(os.stat(file.name).st_mode), os.stat(file.name).st_uid)
with tempfile.TemporaryDirectory() as place:
    print(place, oct(os.stat(place).st_mode))
print(len(set(tempfile.mktemp() for _ in range(100))), os.listdir("/tmp"), os.listdir("/var/tmp"), os.listdir("/dev/shm"))
