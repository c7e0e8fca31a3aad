# airlock-case: {"expect":"user_exception","signal":"SIGBUS","stdout":"before\n","note":"a mapped file that shrinks under the program: the kernel's fault signal for I/O, not a sandbox's"}
import mmap
import os

fd = os.open("file", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 8192)
area = mmap.mmap(fd, 8192)
print("before", flush=True)
os.ftruncate(fd, 0)
print(area[5000])
