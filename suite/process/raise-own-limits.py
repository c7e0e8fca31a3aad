# airlock-case: {"expect":"success","stdout":"refused\nlowered\n","note":"limits of the process can be lowered by the program and not raised","source":"https://github.com/superradcompany/microsandbox/issues/494"}
import resource

for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
    hard = resource.getrlimit(which)[1]
    try:
        resource.setrlimit(which, (hard + 1, hard + 1))
        print("raised", which)
    except ValueError:
        pass
print("refused")
resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print("lowered")
