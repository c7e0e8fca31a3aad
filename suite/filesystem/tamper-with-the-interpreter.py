# airlock-case: {"expect": "success", "has": "interpreter untouched", "never": "BREACH", "note": "the interpreter, its library and the loader's configuration belong to the image; copy-up in the writable layer must not make them changeable"}
import os
import sys

hit = []
for path in (sys.executable, os.path.realpath(sys.executable), os.__file__, os.path.dirname(os.__file__), "/etc/ld.so.cache",
             "/etc/passwd", "/usr/bin/env", "/lib64/ld-linux-x86-64.so.2"):
    for name, action in (("open", lambda: os.close(os.open(path, os.O_RDWR))), ("truncate", lambda: os.truncate(path, 0)),
                         ("chmod", lambda: os.chmod(path, 0o777)), ("chown", lambda: os.chown(path, 1000, 1000)),
                         ("utime", lambda: os.utime(path, (1, 1))), ("rename", lambda: os.rename(path, path + ".old")),
                         ("xattr", lambda: os.setxattr(path, "security.capability", b"\x01\0\0\x02" + bytes(16)))):
        try:
            action()
            hit.append((name, path))
        except OSError as e:
            print(name, path, os.strerror(e.errno))
print("BREACH" if hit else "interpreter untouched", hit)
