# differential: {"args": ["one", "two words"], "known": "/proc/self/cmdline has no arguments of the job"}
print(open("/proc/self/cmdline", "rb").read())
