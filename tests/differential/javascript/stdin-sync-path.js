// differential: {"stdin": "by its path\n"}
const fs = require('fs');
console.log(process.stdin.isTTY, process.stdin.fd, process.stdin.readable, process.stdin.isPaused());
const b = Buffer.alloc(3);
console.log(fs.readSync(0, b), b, fs.readFileSync('/dev/stdin', 'utf8'));
