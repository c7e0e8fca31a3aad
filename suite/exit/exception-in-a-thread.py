# airlock-case: {"expect":"success","stdout":"main is fine\n","err":"ZeroDivisionError","note":"only a thread fails: Python ends with 0, and that is what is told"}
import threading

thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
print("main is fine")
