# airlock-case: {"expect": "success", "stdout": "größe 日本 🂡 utf-8\n", "note": "names and streams are UTF-8 whatever the locale of the host"}
import os
import sys

with open("/tmp/größe-日本", "w") as f:
    f.write("größe 日本 🂡")
assert os.listdir("/tmp") == ["größe-日本"]
print(open("/tmp/größe-日本").read(), sys.stdout.encoding)
