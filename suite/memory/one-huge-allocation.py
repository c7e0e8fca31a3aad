# airlock-case: {"expect":"success","stdout":"MemoryError\nMemoryError\n","limits":{"mem_mib":64},"note":"an allocation that no machine could hold is refused at once; nothing is killed for it"}
for size in (1 << 45, (1 << 62) + 1):
    try:
        print(len(bytearray(size)))
    except MemoryError:
        print("MemoryError")
