// airlock-case: {"expect": "success", "has": "anonymous", "note": "serial numbers, firmware tables, bus and disk identities of the machine are not shown to the program"}
const fs = require('fs');
const hit = [];
for (const dir of ['/sys/class/dmi/id', '/sys/firmware', '/sys/block', '/proc/scsi', '/sys/devices', '/dev/disk']) {
  try { hit.push(...fs.readdirSync(dir).map((n) => dir + '/' + n)); } catch (e) { console.log(dir, e.code); }
}
hit.push(...fs.readdirSync('/dev').filter((n) => /^(vd|sd|nvme|sr|loop|vport|hvc|ttyS)/.test(n)));
console.log(hit.length ? 'KNOWN' : 'anonymous', hit.join(' '));
