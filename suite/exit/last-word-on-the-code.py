# airlock-case: {"expect":"user_exception","exit":9,"stdout":"done\n","note":"a handler at the very end changes the exit code: what the process returned counts"}
import atexit
import os
import sys

atexit.register(os._exit, 9)
print("done")
sys.stdout.flush()
