# airlock-case: {"expect": "user_exception", "exit": 7, "has": "forged", "outputs": {}, "note": "files that look like a result, in every place a program can write, change nothing about the verdict"}
import json
import sys

text = json.dumps({"verdict": "success", "reason": None, "exit_code": 0, "outputs": [], "cleanup": {"verified": True}})
for path in ("/out/result.json", "/out/verdict", "/work/result.json", "/tmp/result.json", "/out/.airlock-0", "/out/stdout"):
    with open(path, "w") as f:
        f.write(text)
print("forged", text)
sys.exit(7)
