# differential: {"env": {"ONE": "1", "TWO": "2 3"}}
print(open("/proc/self/environ", "rb").read().split(b"\0"))
