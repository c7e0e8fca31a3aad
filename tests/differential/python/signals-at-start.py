# differential: {}
import signal
import threading

for number in sorted(signal.valid_signals()):
    print(number, signal.getsignal(number))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending(), signal.getitimer(signal.ITIMER_REAL))
print(signal.set_wakeup_fd(-1), signal.alarm(0), threading.current_thread() is threading.main_thread())
print([line.split() for line in open("/proc/self/status") if line.startswith(("Sig", "Shd"))])
