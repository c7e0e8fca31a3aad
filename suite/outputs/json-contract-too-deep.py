# airlock-case: {"expect": "output_rejected", "has": "nested", "outputs": {}, "contract": "json:result.json", "note": "a hundred thousand opening brackets break parsers that recurse; the inspector counts the depth instead"}
with open("/out/result.json", "w") as f:
    f.write("[" * 100000 + "]" * 100000)
print("nested")
