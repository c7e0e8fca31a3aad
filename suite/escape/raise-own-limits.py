# airlock-case: {"expect": "success", "has": "limits stand", "never": "BREACH", "only": "Node.js has no call for resource limits", "note": "hard limits of the process cannot be raised, and soft ones not above them"}
import resource

hit = []
for name in ("RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_MEMLOCK", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_MSGQUEUE", "RLIMIT_SIGPENDING"):
    which = getattr(resource, name)
    soft, hard = resource.getrlimit(which)
    for new in ((hard + 1, hard + 1), (hard + 1, hard), (-1, -1)):
        try:
            resource.setrlimit(which, new)
            if resource.getrlimit(which)[1] != hard:
                hit.append(name)
        except (OSError, ValueError):
            pass
    print(name, soft, hard)
print("BREACH" if hit else "limits stand", hit)
