# airlock-case: {"expect":"output_overflow","which":"stderr","stdout":"first\n","limits":{"err_kib":32},"note":"the other stream needs a cap of its own","source":"https://github.com/UKGovernmentBEIS/inspect_ai/pull/781"}
import os
import sys
import time

print("first", flush=True)
time.sleep(0.3)
while True:
    os.write(sys.stderr.fileno(), b"flood " * 1000)
