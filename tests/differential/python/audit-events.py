# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import sys

seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.split(".")[0] not in ("object", "sys", "marshal") else None)
open("/dev/null").close()
compile("1", "x", "exec")
__import__("os").listdir("/in")
import json

print(seen)
sys.addaudithook(lambda event, args: print("at the end:", event) if event.startswith("cpython") else None)
