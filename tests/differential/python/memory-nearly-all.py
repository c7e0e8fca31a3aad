# differential: {"options": ["--memory", "128M"]}
# What a limit leaves to the program is the same (but for what the interpreter itself takes).
block = bytearray(b"\1") * (96 << 20)
print(len(block), sum(block[:: 1 << 20]))
