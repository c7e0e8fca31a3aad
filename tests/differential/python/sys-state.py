# differential: {}
import sys

print(dir(sys))
print(sys.flags, sys.warnoptions, sys._xoptions, sys.hash_info, sys.thread_info)
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags(), sys.get_int_max_str_digits())
print(sys.gettrace(), sys.getprofile(), sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth())
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__,
      sys.unraisablehook is sys.__unraisablehook__, sys.breakpointhook is sys.__breakpointhook__)
print(sys.exc_info(), sys.is_finalizing(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
print(sys.version, sys.implementation, sys._git, sys.api_version, sys.maxsize)
print(sys.float_repr_style, sys.abiflags, sys._framework, sys.byteorder, hasattr(sys, "last_type"), hasattr(sys, "ps1"))
