# airlock-case: {"expect": "success", "has": "still a candidate", "never": "BREACH", "note": "a program that lowers its own score would have the agent killed in its place"}
import os

before = int(open("/proc/self/oom_score_adj").read())
for path in ("/proc/self/oom_score_adj", "/proc/self/oom_adj", "/proc/thread-self/oom_score_adj"):
    for value in ("-1000", "0", "-17", str(before - 1)):
        try:
            with open(path, "w") as f:
                f.write(value)
            print("BREACH", path, value)
        except OSError as e:
            print(path, value, os.strerror(e.errno))
pid = os.fork()
if pid == 0:
    os._exit(int(open("/proc/self/oom_score_adj").read()) < before)
child_lower = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("still a candidate" if int(open("/proc/self/oom_score_adj").read()) == before >= 500 and not child_lower else "BREACH", before)
