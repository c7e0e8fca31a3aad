# airlock-case: {"expect":"timeout","which":"wall","never":"opened","limits":{"wall_s":1,"cpu_s":60},"note":"blocked in the kernel inside open(), not in a sleep that the interpreter knows of"}
import os

os.mkfifo("fifo")
print("opening", flush=True)
open("fifo").read()
print("opened", flush=True)
