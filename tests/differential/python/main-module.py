# differential: {}
"""What a program finds in its own namespace."""
import sys

first: int = 1
me = sys.modules["__main__"]
print(list(vars(me)))
for name in ("__name__", "__doc__", "__package__", "__spec__", "__annotations__", "__file__", "__cached__"):
    print(name, repr(getattr(me, name)))
print(type(__loader__), __loader__.name, __loader__.path, __loader__.is_package("__main__"))
print(type(__builtins__), __builtins__ is sys.modules["builtins"], me.__dict__ is globals(), locals() is globals())
print(repr(me), __loader__.get_filename("__main__"))
print(__loader__.get_source("__main__").splitlines()[1])
