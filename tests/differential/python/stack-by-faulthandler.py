# differential: {"varies": [["0x[0-9a-f]{16}", "0xN", "an address"]]}
import faulthandler
import threading
import time


def nested():
    faulthandler.dump_traceback(all_threads=True)


print(faulthandler.is_enabled(), flush=True)
nested()
faulthandler.dump_traceback_later(0.2)
time.sleep(0.6)
faulthandler.cancel_dump_traceback_later()
thread = threading.Thread(target=nested)
thread.start()
thread.join()
