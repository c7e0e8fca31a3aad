# differential: {"args": ["kept"]}
import os
import sys

if os.environ.get("AGAIN"):
    print("again", sys.argv, os.getpid(), sorted(os.environ))
else:
    print("first", sys.argv, os.getpid(), flush=True)
    os.environ["AGAIN"] = "1"
    os.execv("/proc/self/exe", [sys.orig_argv[0], *sys.argv])
