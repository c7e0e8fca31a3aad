# differential: {}
# The entries and those values that are no addresses.
import struct

data = open("/proc/self/auxv", "rb").read()
for kind, value in struct.iter_unpack("QQ", data):
    print(kind, value if kind in (4, 5, 6, 8, 11, 12, 13, 14, 16, 17, 23, 26) else "address")
