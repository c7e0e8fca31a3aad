# airlock-case: {"expect": "success", "has": "linked", "outputs": {"one": 1000, "sub": null, "sub/three": 1000, "two": 1000}, "dropped": 0, "note": "a file with several names arrives as so many copies, each counted"}
import os

with open("/out/one", "wb") as f:
    f.write(b"1" * 1000)
os.mkdir("/out/sub")
os.link("/out/one", "/out/two")
os.link("/out/one", "/out/sub/three")
print("linked", os.stat("/out/one").st_nlink)
