# differential: {"known": "/proc/self/environ has what made the interpreter wait (PYTHONPATH=/in)"}
print(open("/proc/self/cmdline", "rb").read(), open("/proc/self/environ", "rb").read())
