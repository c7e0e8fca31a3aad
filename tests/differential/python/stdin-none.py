# differential: {"verdict": "user_exception", "exit": 1}
import select
import sys

print(select.select([sys.stdin], [], [], 5)[0] == [sys.stdin], repr(sys.stdin.read()), sys.stdin.isatty())
name = input("name? ")
