# airlock-case: {"expect":"user_exception","exit":4,"out_bytes":400000,"limits":{"out_kib":1024},"note":"the program ends while its pipe is full of what was not read yet","source":"https://github.com/nodejs/node/issues/53242"}
import os
import sys

for _ in range(4000):
    print("-" * 99)
sys.stdout.flush()
os._exit(4)
