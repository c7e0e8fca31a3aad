// airlock-case: {"expect": "success", "has": "random at once", "note": "random numbers are ready at the first instruction, neither block nor repeat, and machine id and boot id are no constants of the image"}
const crypto = require('crypto');
const fs = require('fs');
const first = crypto.randomBytes(32);
const fd = fs.openSync('/dev/random', 'r');
const strong = Buffer.alloc(32);
fs.readSync(fd, strong, 0, 32, null);
const values = new Set([first.toString('hex'), strong.toString('hex'), crypto.randomUUID(), crypto.randomUUID(), Math.random(), Math.random(),
  fs.mkdtempSync('/tmp/x'), fs.mkdtempSync('/tmp/x')]);
const ids = ['/etc/machine-id', '/proc/sys/kernel/random/boot_id', '/proc/sys/kernel/random/uuid'].map((p) => fs.readFileSync(p, 'utf8').trim().replace(/-/g, ''));
const good = new Set(ids).size === 3 && ids.every((x) => /^[0-9a-f]{32}$/.test(x) && new Set(x).size > 5);
console.log(good && values.size === 8 && new Set(first).size > 16 ? 'random at once' : 'NOT RANDOM', values.size);
