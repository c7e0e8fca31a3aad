# airlock-case: {"expect":"success","out_bytes":65536,"limits":{"out_kib":64},"note":"a cap of n bytes lets n bytes through"}
import os

assert os.write(1, b"x" * 65536) == 65536
