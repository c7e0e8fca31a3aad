# differential: {}
import builtins

print(dir(builtins))
print(repr(exit), repr(quit), repr(copyright)[:40], type(help), type(license))
print(builtins.open is open, builtins.__import__.__module__, repr(builtins.__spec__), builtins.__debug__)
print(print.__self__ is builtins, hasattr(builtins, "_"))
print({k: type(v).__name__ for k, v in vars(builtins).items() if not isinstance(v, type)})
