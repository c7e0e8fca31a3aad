# airlock-case: {"expect": "success", "has": "nothing inherited", "note": "beside stdin, stdout and stderr no descriptor of the agent, of its channel or of a device is handed down"}
import os

held = {}
for fd in range(4096):
    try:
        held[fd] = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        pass
print(held)
print("nothing inherited" if sorted(held) == [0, 1, 2] else "INHERITED")
