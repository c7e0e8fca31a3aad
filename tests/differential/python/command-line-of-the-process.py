# differential: {"args": ["one", "two words"]}
print(open("/proc/self/cmdline", "rb").read())
