# airlock-case: {"expect": "timeout", "which": "cpu", "stdout": "before", "limits": {"wall_s": 8, "cpu_s": 1}, "events": "cpu_limit", "quick": true, "note": "a busy program ends at the CPU limit, well before the wall's"}
import sys

sys.stdout.write("before")
sys.stdout.flush()
while True:
    pass
