// airlock-case: {"expect": "success", "has": "named 24", "dropped": 0, "note": "line ends, escapes, bytes that are no UTF-8, options, look-alikes, other case and what other systems fear: all arrive, none is cut or merged"}
const fs = require('fs');
const names = ['two\nlines', 'tab\there', '\x1b[2Jcleared', 'bell\x07', '\x7f', '\x01', '-rf', '--help', '...', '..x', '.hidden', 'caf\u00e9', 'cafe\u0301',
  'exe.txt\u202egpj', 'readme', 'README', 'CON', 'back\\slash', '%2e%2e%2fup', ' trail '].map((name) => Buffer.from(name));
for (const hex of ['fffe', 'c328', 'eda080', 'c0aec0ae']) names.push(Buffer.from(hex, 'hex'));
for (const name of names) fs.writeFileSync(Buffer.concat([Buffer.from('/out/'), name]), name);
console.log('named', fs.readdirSync('/out', { encoding: 'buffer' }).length);
