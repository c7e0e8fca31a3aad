// airlock-case: {"expect": "success", "has": "links made", "outputs": {"plain": 5}, "dropped": 7, "quick": true, "note": "links to files of host and guest in the outputs are dropped and listed; nothing is ever read through them"}
const fs = require('fs');
for (const [name, target] of [['passwd', '/etc/passwd'], ['shadow', '/etc/shadow'], ['rel', '../../../../etc/passwd'],
  ['env', '/proc/self/environ'], ['tree', '/'], ['zero', '/dev/zero'], ['gone', '/no/such/file']]) fs.symlinkSync(target, '/out/' + name);
fs.writeFileSync('/out/plain', 'plain');
console.log('links made');
