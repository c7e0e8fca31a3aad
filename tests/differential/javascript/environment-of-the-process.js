// differential: {"env": {"ONE": "1", "TWO": "2 3"}, "known": "/proc/self/environ has no --env of the job"}
console.log(require('fs').readFileSync('/proc/self/environ', 'utf8').split('\0'));
