# differential: {"has": "alarm"}
import os
import signal
import time


def handler(number, frame):
    print("got", signal.Signals(number).name, frame.f_code.co_name, frame.f_lineno > 0)


for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
    signal.signal(number, handler)
    os.kill(os.getpid(), number)
signal.signal(signal.SIGALRM, lambda n, f: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.3)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR2]))
if os.fork() == 0:
    os._exit(0)
os.wait()
