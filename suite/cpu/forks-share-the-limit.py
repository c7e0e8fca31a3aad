# airlock-case: {"expect":"timeout","which":"cpu","has":"forked","limits":{"cpu_s":1,"wall_s":60},"note":"a limit per process would give every child the whole limit again; main itself only waits","source":"https://github.com/google/kctf/issues/59"}
import os

for _ in range(4):
    if os.fork() == 0:
        while True:
            pass
print("forked", flush=True)
os.wait()
