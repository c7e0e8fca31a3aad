# airlock-case: {"expect":"success","stdout":"one line\n'' '' ''\nEOFError\n","stdin":"one line\n","limits":{"wall_s":3},"note":"the end of stdin stays the end, however often it is asked for","source":"https://github.com/ponylang/ponyc/pull/5763"}
import sys

print(sys.stdin.read(), end="")
print(*(repr(sys.stdin.read()) for _ in range(3)))
try:
    input()
except EOFError:
    print("EOFError")
