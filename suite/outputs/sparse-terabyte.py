# airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "sparse", "outputs": {}, "quick": true, "note": "a file of a terabyte that takes no block is over the cap by its size and must be found without reading it"}
import os

fd = os.open("/out/huge", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 1 << 40)
os.pwrite(fd, b"x", (1 << 40) - 1)
print("sparse", os.fstat(fd).st_blocks < 100)
