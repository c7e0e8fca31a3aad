# differential: {"known": "audit hooks do not see what modules loaded ahead opened and imported"}
import sys

seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.split(".")[0] not in ("object", "sys", "marshal") else None)
open("/dev/null").close()
compile("1", "x", "exec")
__import__("os").listdir("/in")
import json

print(seen)
sys.addaudithook(lambda event, args: print("at the end:", event) if event.startswith("cpython") else None)
