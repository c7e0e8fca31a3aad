# airlock-case: {"expect":"oom","has":"memfd","never":"filled","limits":{"mem_mib":48},"note":"pages of a memory file belong to no process's own size, yet count"}
import os

fd = os.memfd_create("hoard")
block = b"\xaa" * (1 << 20)
print("memfd", flush=True)
for _ in range(72):
    os.write(fd, block)
print("filled", flush=True)
