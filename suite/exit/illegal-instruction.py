# airlock-case: {"expect":"user_exception","signal":"SIGILL","stdout":"before\n","note":"an instruction that no processor has, out of machine code that the program brought along"}
import ctypes
import mmap

print("before", flush=True)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\x0f\x0b")  # ud2
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
