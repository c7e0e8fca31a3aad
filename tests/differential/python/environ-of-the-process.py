# differential: {"env": {"ONE": "1", "TWO": "2 3"}, "known": "/proc/self/environ has no --env of the job"}
print(open("/proc/self/environ", "rb").read().split(b"\0"))
