// airlock-case: {"expect": "success", "stdout": "still running\n", "note": "the kernel's emergency keys crash, reboot and power off; writing them has no effect for the program"}
const fs = require('fs');
for (const key of 'hsumwcob') {
  for (const path of ['/proc/sysrq-trigger', '/proc/sys/kernel/sysrq']) {
    try { fs.writeFileSync(path, key); } catch (e) { /* closed */ }
  }
}
console.log('still running');
