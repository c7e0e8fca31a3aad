# airlock-case: {"expect":"user_exception","signal":"SIGABRT","stdout":"no core\n","outputs":{},"note":"an abort asks for a core dump: none may be written, whatever the program sets"}
import os
import resource

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except ValueError:
    pass
os.chdir(os.environ["OUT"])
if os.fork() == 0:
    os.abort()
status = os.wait()[1]
print("core" if os.WCOREDUMP(status) else "no core", flush=True)
os.abort()
