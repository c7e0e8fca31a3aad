// airlock-case: {"expect": "output_overflow", "which": "output_depth", "has": "deep", "limits": {"out_depth": 4}, "outputs": {}, "note": "a tree one level deeper than allowed is refused whole"}
const fs = require('fs');
fs.mkdirSync('/out/1/2/3/4/5', { recursive: true });
fs.writeFileSync('/out/top', '');
console.log('deep');
