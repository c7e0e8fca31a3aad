# differential: {"inputs": {"csv.py": "print('csv of the job')\nreader = 5\n", "base64.py": "b64encode = None\n", "ssl.py": "raise RuntimeError('no ssl')\n"}, "varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import sys

sys.path.insert(0, "/in")
import base64
import csv

print(csv.reader, csv.__file__, base64.b64encode, base64.__spec__)
try:
    import ssl
except RuntimeError as error:
    print(error, "ssl" in sys.modules)
print([n for n in sys.modules if n in ("csv", "_csv", "base64", "binascii")])
print(sys.path_importer_cache["/in"])
