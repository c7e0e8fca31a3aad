# differential: {"options": ["--pids", "12"], "has": "threads"}
import os
import threading
import time

started = 0
try:
    while started < 50:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        started += 1
except RuntimeError as error:
    print(started, "threads", error, threading.active_count())
os.write(1, b"")
