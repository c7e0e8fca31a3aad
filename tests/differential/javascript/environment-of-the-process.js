// differential: {"env": {"ONE": "1", "TWO": "2 3"}}
console.log(require('fs').readFileSync('/proc/self/environ', 'utf8').split('\0'));
