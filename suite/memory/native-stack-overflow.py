# airlock-case: {"expect":"user_exception","signal":"SIGSEGV","has":"going down","only":"V8 checks the stack at each call, and Node.js gives each worker the stack that it was told of","note":"with the interpreter's limit on depth out of the way the C stack overflows: a crash of the program, not of the sandbox","source":"https://github.com/python/cpython/issues/74483"}
import sys


class Mirror:
    def __repr__(self):
        return repr(self)


sys.setrecursionlimit(1 << 30)
print("going down", flush=True)
print(Mirror())
