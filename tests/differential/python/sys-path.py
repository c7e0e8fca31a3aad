# differential: {}
import sys

print(sys.path)
print(sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, sys.platlibdir, sys._home)
print([getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
print([getattr(h, "__qualname__", str(h)) for h in sys.path_hooks])
print(sys._stdlib_dir, sys.pycache_prefix, sys.dont_write_bytecode)
