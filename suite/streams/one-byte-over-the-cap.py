# airlock-case: {"expect":"output_overflow","which":"stdout","out_bytes":65536,"limits":{"out_kib":64},"note":"one byte more is an overflow even if the program ended with 0 long since"}
import os

os.write(1, b"x" * 65536)
os.write(1, b"x")
