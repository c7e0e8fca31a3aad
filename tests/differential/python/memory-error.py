# differential: {"verdict": "user_exception", "exit": 1}
import resource
import sys

try:
    bytearray(1 << 45)
except MemoryError as error:
    print(repr(error), sys.exc_info()[2].tb_lineno)
resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20))
kept = []
print("filling", flush=True)
while True:
    kept.append(bytearray(32 << 20))
