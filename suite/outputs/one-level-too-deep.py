# airlock-case: {"expect": "output_overflow", "which": "output_depth", "has": "deep", "limits": {"out_depth": 4}, "outputs": {}, "note": "a tree one level deeper than allowed is refused whole"}
import os

os.makedirs("/out/1/2/3/4/5")
open("/out/top", "w").close()
print("deep")
