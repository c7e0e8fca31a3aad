// airlock-case: {"expect": "success", "has": "synced", "outputs": {"synced": 800}, "note": "hundreds of flushes to the virtual disk, file by file and whole, neither hang the machine nor outlive it"}
const fs = require('fs');
const fd = fs.openSync('/out/synced', 'w');
let n = 0;
for (; n < 200; n++) {
  fs.writeSync(fd, String(n).padStart(3, '0') + '\n');
  fs.fsyncSync(fd);
}
console.log('synced', n);
