// airlock-case: {"expect": "success", "has": "random at once", "note": "the kernel's random numbers are ready at the first instruction, do not block and do not repeat"}
const crypto = require('crypto');
const fs = require('fs');
const first = crypto.randomBytes(32);
const fd = fs.openSync('/dev/random', 'r');
const strong = Buffer.alloc(32);
fs.readSync(fd, strong, 0, 32, null);
const values = new Set([first.toString('hex'), strong.toString('hex'), crypto.randomUUID(), crypto.randomUUID(), Math.random(), Math.random(),
  fs.mkdtempSync('/tmp/x'), fs.mkdtempSync('/tmp/x')]);
console.log(values.size === 8 && new Set(first).size > 16 ? 'random at once' : 'NOT RANDOM', values.size);
