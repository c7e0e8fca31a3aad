// airlock-case: {"expect": "success", "has": "all alone", "note": "a pid namespace of its own: small numbers, and no process of the guest's agent or kernel in sight"}
const fs = require('fs');
const seen = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
console.log(process.pid, process.ppid, seen.join());
console.log(process.pid < 10 && seen.length === 1 && seen[0] === process.pid ? 'all alone' : 'COMPANY');
