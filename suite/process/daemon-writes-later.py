# airlock-case: {"expect":"success","outputs":{"main.txt":5},"note":"a daemon that waits for the end of main and then changes the outputs while they are collected","source":"https://github.com/ponylang/ponyc/issues/5764"}
import os
import time

out = os.environ["OUT"]
main = os.getpid()
if os.fork() == 0:
    os.setsid()
    while os.getppid() == main:
        time.sleep(0.01)
    time.sleep(1)
    while True:
        with open(f"{out}/late.txt", "a") as f:
            f.write("late\n")
with open(f"{out}/main.txt", "w") as f:
    f.write("main\n")
