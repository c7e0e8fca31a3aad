# airlock-case: {"expect":"timeout","which":"cpu","stdout":"consuming\n","limits":{"cpu_s":1,"wall_s":60},"note":"an endless iterator drained by C code: not one instruction of the program runs meanwhile"}
import itertools
import signal

signal.signal(signal.SIGALRM, lambda *_: print("interrupted", flush=True))
signal.alarm(1)
print("consuming", flush=True)
any(map(bool, itertools.repeat(0)))
