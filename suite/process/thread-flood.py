# airlock-case: {"expect":"success","stdout":"15 threads, then refused\n","events":["pids_refused"],"limits":{"pids":16},"note":"threads count like processes, one for one","source":"https://github.com/OpenMathLib/OpenBLAS/issues/4762"}
import os
import threading

stop = threading.Event()
threads = 0
try:
    while threads < 1000:
        threading.Thread(target=stop.wait).start()
        threads += 1
except RuntimeError:
    print(threads, "threads, then refused", flush=True)
os._exit(0)
