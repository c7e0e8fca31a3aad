# differential: {"verdict": "user_exception", "exit": 1}
import sys
import traceback


def hook(kind, value, trace):
    print("hook", kind.__name__, value, [f.name for f in traceback.extract_tb(trace)])
    depth = 0
    while trace:
        depth, trace = depth + 1, trace.tb_next
    print("frames", depth, hasattr(sys, "last_value"))
    raise RuntimeError("the hook fails too")


sys.excepthook = hook
raise LookupError("first")
