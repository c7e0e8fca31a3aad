# airlock-case: {"expect": "user_exception", "exit": 3, "has": "written", "outputs": {}, "dropped": 2, "quick": true, "note": "a program that ends with another code than 0 exports nothing; what it wrote is only listed"}
import sys

for name in ("result", "more"):
    with open("/out/" + name, "w") as f:
        f.write("half done")
print("written")
sys.exit(3)
