# airlock-case: {"expect": "user_exception", "signal": "SIGSEGV", "has": "pattern kept", "never": "BREACH", "outputs": {}, "note": "a core pattern that starts a program runs it as root outside every namespace; it cannot be set, and a crash leaves no core"}
import os
import resource

before = open("/proc/sys/kernel/core_pattern").read()
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/core_uses_pid", "/proc/sys/fs/suid_dumpable"):
    try:
        open(path, "w").write("|/work/main.py")
        print("BREACH", path)
    except OSError as e:
        print(path, os.strerror(e.errno))
try:
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    print("BREACH core")
except (OSError, ValueError) as e:
    print("core limit", e)
print("pattern kept" if open("/proc/sys/kernel/core_pattern").read() == before else "BREACH", flush=True)
os.chdir("/out")
os.kill(os.getpid(), 11)
