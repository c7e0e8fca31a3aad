// differential: {"verdict": "output_rejected", "options": ["--contract", "json:table.json"]}
require('fs').writeFileSync('/out/table.json', 'no table');
console.log('an output that is no JSON');
