# airlock-case: {"expect": "output_rejected", "has": "only a link", "outputs": {}, "contract": "json:result.json", "note": "the promised file is a link to a fine one: links are no outputs, so it is missing"}
import os

with open("/out/other.json", "w") as f:
    f.write("{}")
os.symlink("other.json", "/out/result.json")
print("only a link")
