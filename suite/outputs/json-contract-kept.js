// airlock-case: {"expect": "success", "has": "one document", "outputs": {"result.json": 21}, "contract": "json:result.json", "note": "what keeps the contract passes: a rule that refuses everything proves nothing"}
require('fs').writeFileSync('/out/result.json', '{"a": [1, 2.5e3,"b"]}');
console.log('one document');
