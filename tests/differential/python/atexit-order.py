# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import atexit
import threading
import time
import weakref


class Thing:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name)


def late():
    time.sleep(0.2)
    print("thread ends, main is", threading.main_thread().is_alive())


def fails():
    raise ValueError("in atexit")


kept = Thing("global")
weakref.finalize(kept, print, "finalizer")
atexit.register(print, "first registered")
atexit.register(fails)
atexit.register(lambda: print("last registered", threading.active_count()))
threading._register_atexit(print, "threading's own")
threading.Thread(target=late).start()
print("main ends", atexit._ncallbacks())
