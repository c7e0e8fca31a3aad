# airlock-case: {"expect": "success", "has": "unmounted", "root": true, "only": "Node.js has no mount calls and the image no mount program", "note": "the program takes its own mounts apart; the agent's are others, so collection goes on"}
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
print("unmounted", flush=True)
for place in (b"/in", b"/tmp", b"/var/tmp", b"/dev/shm", b"/sys/fs/cgroup", b"/sys", b"/work", b"/out", b"/dev", b"/proc"):
    libc.umount2(place, 2)
for place in (b"/", b"/in"):
    libc.mount(None, place, None, 32 | 1, None)
os._exit(0)
