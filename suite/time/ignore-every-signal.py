# airlock-case: {"expect":"timeout","which":"wall","never":"ignored: 0\n","limits":{"wall_s":1,"cpu_s":60},"note":"whoever asks politely before killing waits for ever","source":"https://github.com/earendil-works/pi/issues/7864"}
import signal
import time

ignored = 0
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
        ignored += 1
    except OSError:  # SIGKILL and SIGSTOP
        print("cannot ignore", int(number))
print("ignored:", ignored, flush=True)
while True:
    time.sleep(60)
