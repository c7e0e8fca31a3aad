# airlock-case: {"expect":"timeout","which":"cpu","has":"storm","limits":{"cpu_s":1,"wall_s":60},"note":"a timer every few microseconds keeps kernel and interpreter busy without a loop in the program"}
import signal

signal.signal(signal.SIGALRM, lambda number, frame: None)
print("storm", flush=True)
signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)
while True:
    signal.pause()
