# differential: {"has": "line 0 "}
import sys

for i in range(12000):
    print("line", i, "." * 60)
print("done", file=sys.stderr)
