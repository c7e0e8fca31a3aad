# airlock-case: {"expect": "user_exception", "exit": 3, "has": "forged", "outputs": {}, "dropped": 2, "quick": true, "note": "a program that ends with another code than 0 exports nothing, and files that look like a result change nothing about the verdict"}
import json
import sys

text = json.dumps({"verdict": "success", "reason": None, "exit_code": 0, "cleanup": {"verified": True}})
for path in ("/out/result.json", "/out/verdict", "/work/result.json", "/tmp/result.json"):
    with open(path, "w") as f:
        f.write(text)
print("forged", text)
sys.exit(3)
