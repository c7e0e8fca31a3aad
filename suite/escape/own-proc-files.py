# airlock-case: {"expect": "success", "has": "nothing rewritten", "never": "BREACH", "note": "files of /proc/self that change identity maps, labels, scores or memory are closed, also through the thread directories"}
import os

hit = []
for base in ("/proc/self", "/proc/thread-self", f"/proc/self/task/{os.getpid()}"):
    for name in ("uid_map", "gid_map", "projid_map", "setgroups", "loginuid", "attr/current", "attr/exec", "coredump_filter", "oom_adj", "autogroup",
                 "timens_offsets", "clear_refs", "make-it-fail", "sched"):
        try:
            os.close(os.open(f"{base}/{name}", os.O_WRONLY))
            hit.append(f"{base}/{name}")
        except OSError:
            pass
print("BREACH" if hit else "nothing rewritten", hit)
