// differential: {}
const names = new Set(require('fs').readFileSync('/proc/self/maps', 'utf8').split('\n').map((l) => l.split(/ +/)[5]).filter(Boolean));
console.log([...names].sort().join('\n'));
