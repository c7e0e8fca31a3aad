# airlock-case: {"expect": "output_rejected", "has": "two documents", "outputs": {}, "contract": "json:result.json", "note": "two documents in a file that was promised to be one: the contract is checked on the host, after the end"}
with open("/out/result.json", "w") as f:
    f.write('{"a": 1}\n{"a": 2}\n')
print("two documents")
