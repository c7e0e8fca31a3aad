# airlock-case: {"expect": "success", "has": "one document", "outputs": {"result.json": 21}, "contract": "json:result.json", "note": "what keeps the contract passes: a rule that refuses everything proves nothing"}
with open("/out/result.json", "w") as f:
    f.write('{"a": [1, 2.5e3,"b"]}')
print("one document")
