# airlock-case: {"expect":"timeout","which":"cpu","stdout":"computing\n","limits":{"cpu_s":1,"wall_s":60,"mem_mib":128},"note":"one operation on a number of megabytes, inside the interpreter's C code"}
import sys

sys.set_int_max_str_digits(0)
print("computing", flush=True)
number = (1 << 20_000_000) - 1
print(len(str(number)))
