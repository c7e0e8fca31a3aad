// airlock-case: {"expect": "success", "has": "named", "never": "BREACH", "note": "names with line ends, tabs, escapes and bells can forge lines of a listing; each arrives exactly or is reported as dropped"}
const fs = require('fs');
const names = ['two\nlines', 'tab\there', '\x1b[2Jcleared', 'bell\x07', 'back\x08space', '\x7f', '\x01', 'carriage\rreturn'];
for (const name of names) fs.writeFileSync('/out/' + name, name);
console.log('named', names.length);
