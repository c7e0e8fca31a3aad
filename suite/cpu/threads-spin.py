# airlock-case: {"expect":"timeout","which":"cpu","has":"threads","limits":{"cpu_s":1,"wall_s":60,"vcpus":2},"note":"threads that leave the interpreter lock use both processors at once; main only waits for them"}
import hashlib
import threading

data = bytes(1 << 20)


def work():
    while True:
        hashlib.sha256(data).digest()


for _ in range(3):
    threading.Thread(target=work).start()
print("threads", threading.active_count(), flush=True)
