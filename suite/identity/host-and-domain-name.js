// airlock-case: {"expect": "success", "has": "named airlock", "never": "BREACH", "note": "the host's own name is not told, and the guest's cannot be changed by the program"}
const fs = require('fs');
const os = require('os');
try {
  fs.writeFileSync('/proc/sys/kernel/hostname', 'mine');
  console.log('BREACH');
} catch (e) {
  console.log(e.code);
}
const names = new Set([os.hostname(), fs.readFileSync('/proc/sys/kernel/hostname', 'utf8').trim()]);
console.log([...names].join(), names.size === 1 && names.has('airlock') ? 'named airlock' : 'OTHER NAME');
