# airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "each below", "limits": {"out_total_kib": 64}, "outputs": {}, "note": "no single file is over the cap, but their sum is by one byte; then none is kept"}
for n in range(4):
    with open(f"/out/part{n}", "wb") as f:
        f.write(b"x" * (16384 + (n == 3)))
print("each below")
