# airlock-case: {"expect": "success", "has": "empty", "outputs": {"a": null, "a/b": null, "a/b/c": null, "none": 0}, "dropped": 0, "note": "what is empty is an output as well"}
import os

os.makedirs("/out/a/b/c")
open("/out/none", "w").close()
print("empty")
