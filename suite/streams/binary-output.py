# airlock-case: {"expect":"success","out_bytes":2560,"note":"all byte values, most of it not UTF-8: nothing is replaced, cut or added"}
import sys

sys.stdout.buffer.write(bytes(range(255, -1, -1)) * 10)
