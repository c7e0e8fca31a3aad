# differential: {"verdict": "output_rejected", "options": ["--contract", "json:table.json"]}
print("no table", file=open("/out/table.json", "w"))
print("an output that is no JSON")
