# airlock-case: {"expect":"success","stdout":"EMFILE\nbounded\n","note":"descriptors until there are no more; the sandbox's own work goes on","source":"https://github.com/superradcompany/microsandbox/pull/1157"}
import errno
import os
import resource

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
opened = 0
try:
    while opened < 100_000:
        os.dup(0)
        opened += 1
except OSError as e:
    print(errno.errorcode[e.errno])
print("bounded" if opened == hard - 3 else opened)
