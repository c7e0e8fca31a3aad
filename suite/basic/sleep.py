# airlock-case: {"expect": "timeout", "which": "wall", "stdout": "before", "limits": {"wall_s": 2}, "events": "wall_limit", "note": "a sleeping program uses no CPU; what it wrote comes back"}
import sys
import time

sys.stdout.write("before")
sys.stdout.flush()
time.sleep(3600)
