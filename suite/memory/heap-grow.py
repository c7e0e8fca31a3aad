# airlock-case: {"expect":"oom","has":"growing","never":["caught","cleanup"],"limits":{"mem_mib":48},"quick":true,"note":"small objects until the group is full: SIGKILL runs no handler, no finally and no atexit","source":"https://github.com/daytonaio/daytona/issues/4489"}
import atexit

atexit.register(print, "cleanup")
print("growing", flush=True)
heap = []
try:
    while True:
        heap.append(bytes(1000))
except BaseException as e:
    print("caught", type(e))
