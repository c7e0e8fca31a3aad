// airlock-case: {"expect": "output_rejected", "has": "nested", "outputs": {}, "contract": "json:result.json", "note": "a hundred thousand opening brackets break parsers that recurse; the inspector counts the depth instead"}
require('fs').writeFileSync('/out/result.json', '['.repeat(100000) + ']'.repeat(100000));
console.log('nested');
