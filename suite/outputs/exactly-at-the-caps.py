# airlock-case: {"expect": "success", "has": "at the caps", "limits": {"out_total_kib": 64, "out_files": 4, "out_depth": 3}, "outputs": {"a/b/full": 32768, "rest": 32768}, "dropped": 0, "note": "bytes, entries and depth exactly at their caps are a success: a cap that strikes early is wrong too"}
import os

os.makedirs("/out/a/b")
for path in ("/out/a/b/full", "/out/rest"):
    with open(path, "wb") as f:
        f.write(b"x" * 32768)
print("at the caps")
