# airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "amplified", "limits": {"disk_mib": 16, "out_total_kib": 4096, "out_files": 64}, "outputs": {}, "note": "one mebibyte on scratch under forty names would be forty outside; the total counts every name"}
import os

with open("/out/0", "wb") as f:
    f.write(bytes(1 << 20))
for n in range(1, 40):
    os.link("/out/0", f"/out/{n}")
print("amplified")
