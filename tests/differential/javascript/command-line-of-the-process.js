// differential: {"args": ["one", "two words"]}
console.log(JSON.stringify(require('fs').readFileSync('/proc/self/cmdline', 'latin1')));
