// airlock-case: {"expect": "output_rejected", "has": "two documents", "outputs": {}, "contract": "json:result.json", "note": "two documents in a file that was promised to be one: the contract is checked on the host, after the end"}
require('fs').writeFileSync('/out/result.json', '{"a": 1}\n{"a": 2}\n');
console.log('two documents');
