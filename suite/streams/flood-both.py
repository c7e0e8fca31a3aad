# airlock-case: {"expect":"output_overflow","limits":{"out_kib":64,"err_kib":64},"note":"both streams at once, by two processes; whoever reads one to its end before the other hangs"}
import os

stream = 1 if os.fork() else 2
while True:
    os.write(stream, b"flood " * 500)
