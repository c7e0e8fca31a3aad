# differential: {"verdict": "user_exception", "exit": 1}
# Both streams into one, to see the order in which they are written.
import os
import sys

os.dup2(1, 2)
print("text, buffered")
os.write(1, b"bytes, at once\n")
print("to stderr", file=sys.stderr)
sys.stdout.buffer.write(b"below the text\n")
sys.stdout.flush()
print("no newline", end="", file=sys.stderr)
sys.stderr.write(" half")
print("x" * 9000)
os.write(1, b"\nafter a full buffer\n")
print("left for the end")
raise SystemError("and an error")
