# differential: {"stdin_bytes": 3000000}
import hashlib
import sys

head = sys.stdin.buffer.read(100001)
rest = sys.stdin.buffer.read()
print(len(head), len(rest), hashlib.sha256(head + rest).hexdigest())
