# airlock-case: {"expect":"user_exception","exit":7,"stdout":"","note":"an exit that flushes nothing and runs no handler: what was never written is not made up"}
import atexit
import os

atexit.register(print, "handler")
print("in a buffer")
os._exit(7)
