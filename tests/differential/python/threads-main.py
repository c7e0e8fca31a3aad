# differential: {"varies": [["ident=\\d+", "ident=N", "an address"]]}
import os
import threading

main = threading.main_thread()
print(repr(main).replace(str(main.ident), "N"), main.native_id == os.getpid(), main.ident == threading.get_ident())
print(threading.enumerate() == [main], os.listdir("/proc/self/task") == [str(os.getpid())], main.daemon, main.name)


def fail():
    raise ValueError("in a thread")


workers = [threading.Thread(target=fail), threading.Thread(target=lambda: exit(3), name="named")]
for worker in workers:
    worker.start()
    worker.join()
    print(worker.name, worker.is_alive())
local = threading.local()
print(vars(local), threading.Lock().acquire(timeout=1), threading.Barrier(1).wait())
threading.Thread(target=threading.Event().wait, daemon=True).start()
