# differential: {}
import inspect
import logging
import sys
import traceback


def depth():
    frame, n = sys._getframe(), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def show():
    print([(f.function, f.lineno, f.filename, f.code_context) for f in inspect.stack()])
    traceback.print_stack()
    print([f.name for f in traceback.extract_stack()])
    print(len(sys._current_frames()), depth())


top = sys._getframe()
print(top.f_back, top.f_code.co_filename, top.f_code.co_name, top.f_globals is globals(), top.f_locals is globals(), top.f_lineno)
print(top.f_code.co_flags, top.f_code.co_firstlineno, top.f_builtins is vars(sys.modules["builtins"]), top.f_trace)
show()
exec("show()")
(lambda: [show() for _ in range(1)])()
try:
    sys._getframe(1)
except ValueError as error:
    print(error)
logging.warning("with a stack", stack_info=True)
print(inspect.getmodule(show), inspect.getsourcefile(show), inspect.getsource(depth))
