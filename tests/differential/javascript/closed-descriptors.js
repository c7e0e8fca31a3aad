// differential: {}
const fs = require('fs');
fs.closeSync(0);
console.log(fs.openSync('/dev/null'));
fs.closeSync(2);
console.log(fs.openSync('/work/instead', 'w'));
console.error('into the file');
console.log(fs.readFileSync('/work/instead', 'utf8'));
process.on('exit', () => fs.writeSync(1, 'end\n'));
