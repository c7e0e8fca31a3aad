# differential: {"verdict": "user_exception", "signal": "SIGABRT"}
import os
import resource

print(resource.getrlimit(resource.RLIMIT_CORE), flush=True)
os.abort()
