# differential: {}
import time

for value in (0, 2e9):
    try:
        time.clock_settime(time.CLOCK_REALTIME, value)
        print("set")
    except OSError as error:
        print(error)
