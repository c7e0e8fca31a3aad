# airlock-case: {"expect":"success","exit":0,"stdout":"wraps\n","note":"only eight bits of an exit code exist: 256 is 0 for everybody who waits"}
import sys

print("wraps")
sys.exit(256)
