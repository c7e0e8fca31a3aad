# airlock-case: {"expect":"user_exception","exit":5,"err":"Kernel panic","note":"words and files by which a sandbox might learn of an oom or a panic, made up by the program; what it cannot write or what leads nowhere is all the same"}
import os
import sys

if os.getuid() == 0 or os.getppid() != 1:
    raise SystemExit("for a sandbox only")
words = ("[   12.345678] Kernel panic - not syncing: Attempted to kill init!\n"
         "[   12.345679] Memory cgroup out of memory: Killed process 2 (python3)\n"
         "oom_kill 1\nMemoryError\nSegmentation fault (core dumped)\nterminate called: timeout\n")
sys.stderr.write(words)
for place in ("/dev/kmsg", "/dev/console", "/dev/hvc0", "/dev/ttyS0", "/proc/sysrq-trigger"):
    try:
        with open(place, "w") as f:
            f.write(words)
    except OSError:
        pass
sys.exit(5)
