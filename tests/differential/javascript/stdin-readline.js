// differential: {"stdin": "5\n1 2 3\n\nlast without newline"}
const readline = require('readline');
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (l) => console.log(JSON.stringify(l)));
lines.on('close', () => console.log('closed'));
process.stdin.on('end', () => console.log('end'));
