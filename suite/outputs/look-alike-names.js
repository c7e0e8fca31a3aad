// airlock-case: {"expect": "success", "has": "seven names", "note": "names that look the same (composed and decomposed, other alphabets, direction marks, blanks) stay apart or are reported"}
const fs = require('fs');
const names = ['caf\u00e9', 'cafe\u0301', 'a', '\u0430', 'exe.txt\u202egpj', 'zero\u200bwidth', 'zerowidth'];
for (const name of names) fs.writeFileSync('/out/' + name, name);
console.log(fs.readdirSync('/out').length === 7 ? 'seven names' : 'MERGED');
