# differential: {"options": ["--pids", "12"], "has": "children"}
import os
import time

children = 0
try:
    while children < 50:
        if os.fork() == 0:
            time.sleep(60)
        children += 1
except OSError as error:
    print(children, "children", error)
