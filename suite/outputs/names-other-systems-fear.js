// airlock-case: {"expect": "success", "has": "named", "note": "drive letters, device names, quotes, wildcards, percent codes and trailing blanks, harmless here and dangerous where outputs are used"}
const fs = require('fs');
const names = ['CON', 'nul.txt', 'c:stream', 'back\\slash', '..\\..\\up', '%2e%2e%2fup', 'quo\'te"s', '$(id)', 'a;b|c&d', '*?[x]', ' lead', 'trail ', 'dot.'];
for (const name of names) fs.writeFileSync('/out/' + name, name);
console.log('named', names.length);
