# airlock-case: {"expect":"user_exception","signal":"SIGFPE","stdout":"before\n","note":"the processor's own trap on a division, out of machine code that the program brought along"}
import ctypes
import mmap

print("before", flush=True)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\x31\xc9\x89\xc8\xf7\xf1\xc3")  # xor ecx,ecx; mov eax,ecx; div ecx; ret
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
