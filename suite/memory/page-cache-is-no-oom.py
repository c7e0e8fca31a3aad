# airlock-case: {"expect":"success","stdout":"read back 67108864\n","limits":{"mem_mib":48,"disk_mib":96},"note":"pages of files can be dropped: a program that writes more than its memory must not die of it"}
block = b"\xaa" * (1 << 20)
with open("big", "wb", buffering=0) as f:
    for _ in range(64):
        f.write(block)
size = 0
with open("big", "rb", buffering=0) as f:
    while part := f.read(1 << 20):
        size += len(part)
print("read back", size)
