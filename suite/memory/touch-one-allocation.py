# airlock-case: {"expect":"oom","has":"allocated","never":"touched","limits":{"mem_mib":48},"note":"the kernel promises more than there is; the limit strikes when the pages are touched","source":"https://github.com/google/gvisor/issues/2520"}
import ctypes
import mmap

size = 72 << 20
area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print("allocated", flush=True)
ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(area)), 1, size)
print("touched", flush=True)
