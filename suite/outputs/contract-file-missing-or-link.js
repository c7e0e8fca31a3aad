// airlock-case: {"expect": "output_rejected", "has": "only a link", "outputs": {}, "contract": "json:result.json", "note": "the promised file is a link to a fine one: links are no outputs, so it is missing"}
const fs = require('fs');
fs.writeFileSync('/out/other.json', '{}');
fs.symlinkSync('other.json', '/out/result.json');
console.log('only a link');
