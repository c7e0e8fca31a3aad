# differential: {"verdict": "user_exception", "exit": 1}
import atexit
import sys


@atexit.register
def show():
    print(sys.last_type, sys.last_value, sys.last_traceback.tb_frame.f_code.co_name, sys.last_traceback.tb_next)
    print(sys.exc_info())


raise KeyError("last")
