// differential: {"known": "/proc/self/environ has what made the interpreter wait (NODE_OPTIONS of the hook)"}
const fs = require('fs');
console.log([fs.readFileSync('/proc/self/cmdline', 'latin1'), fs.readFileSync('/proc/self/environ', 'latin1')]);
