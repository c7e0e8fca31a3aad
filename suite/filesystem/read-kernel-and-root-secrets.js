// airlock-case: {"expect": "success", "has": "no secret read", "never": "BREACH", "quick": true, "note": "password hashes, kernel memory, kernel log and addresses, keys and raw devices must give no byte to the program"}
const fs = require('fs');
const paths = ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/root/.ssh/id_rsa', '/proc/kcore', '/proc/kmsg', '/proc/kallsyms',
  '/proc/iomem', '/proc/keys', '/proc/timer_list', '/proc/1/environ', '/proc/1/mem', '/proc/1/maps', '/dev/mem', '/dev/kmem',
  '/dev/kmsg', '/dev/vda', '/dev/vdb', '/dev/vdc', '/dev/port', '/sys/kernel/notes', '/sys/firmware/dmi/tables/DMI'];
const hit = [];
for (const path of paths) {
  try {
    const data = Buffer.alloc(64);
    const fd = fs.openSync(path, 'r');
    const n = fs.readSync(fd, data, 0, 64, null);
    if (n > 0) hit.push(path); // a masked file reads as empty
    console.log(path, n);
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'no secret read', hit.join(' '));
