# airlock-case: {"expect": "timeout", "which": "wall", "limits": {"wall_s": 2}, "outputs": {}, "note": "outputs that were complete before the deadline are not exported either when it strikes"}
import signal

with open("/out/result", "w") as f:
    f.write("complete")
print("written", flush=True)
signal.pause()
