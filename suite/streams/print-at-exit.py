# airlock-case: {"expect":"success","stdout":"main\nfinally\nthread\nlast words","note":"output of the last moment, without a newline and never flushed by the program, still belongs to it","source":"https://github.com/TencentCloud/CubeSandbox/issues/362"}
import atexit
import threading
import time

atexit.register(lambda: print("last words", end=""))
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
try:
    print("main")
finally:
    print("finally")
