// airlock-case: {"expect": "success", "has": "ids of its own", "note": "machine id and boot id are there, well-formed, different from each other and not constants of the image"}
const fs = require('fs');
const read = (path) => fs.readFileSync(path, 'utf8').trim().replace(/-/g, '');
const ids = ['/etc/machine-id', '/proc/sys/kernel/random/boot_id', '/proc/sys/kernel/random/uuid'].map(read);
console.log(ids.join(' '));
const good = ids.every((x) => /^[0-9a-f]{32}$/.test(x) && new Set(x).size > 6) && new Set(ids).size === 3;
console.log(good ? 'ids of its own' : 'BAD IDS');
