# airlock-case: {"expect": "success", "has": "all ended", "limits": {"pids": 16}, "outputs": {"done": 4}, "note": "a family of processes that each hold all their descriptors costs the guest only, and collection still works"}
import os
import resource

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
r, w = os.pipe()
for _ in range(6):
    if os.fork() == 0:
        held = []
        try:
            while True:
                held.append(os.open("/in", os.O_RDONLY | os.O_DIRECTORY))
        except OSError:
            os.write(w, b"%d\n" % (len(held) > 4000))
            os._exit(0)
for _ in range(6):
    os.wait()
full = os.read(r, 100).count(b"1")
with open("/out/done", "w") as f:
    f.write("done")
print("all ended, full:", full)
