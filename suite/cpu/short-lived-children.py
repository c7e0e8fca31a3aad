# airlock-case: {"expect":"timeout","which":"cpu","has":"started","limits":{"cpu_s":1,"wall_s":60},"note":"each child is gone before anybody samples it, so only a count that keeps reaped processes sees the work","source":"https://github.com/google/kctf/issues/59"}
import os

print("started", flush=True)
while True:
    if os.fork() == 0:
        sum(range(20000))
        os._exit(0)
    os.wait()
