# differential: {"known": "a replaced __import__ does not see what modules loaded ahead imported"}
import builtins
import sys

real = builtins.__import__
seen = []


def watched(name, globals=None, locals=None, fromlist=(), level=0):
    seen.append((name, (globals or {}).get("__name__"), level))
    return real(name, globals, locals, fromlist, level)


builtins.__import__ = watched
import json
import textwrap
builtins.__import__ = real
print(seen)
