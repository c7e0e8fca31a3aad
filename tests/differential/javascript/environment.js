// differential: {"env": {"FIRST": "1", "second": "two words", "EMPTY": "", "UNI": "é中"}}
const { execFileSync } = require('child_process');
console.log(Object.entries(process.env));
process.env.ADDED = 5;
delete process.env.FIRST;
console.log('FIRST' in process.env, process.env.ADDED, process.env.NOT_THERE, typeof process.env.ADDED);
console.log(execFileSync('env').toString());
