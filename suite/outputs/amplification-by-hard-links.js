// airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "amplified", "limits": {"disk_mib": 16, "out_total_kib": 4096, "out_files": 64}, "outputs": {}, "note": "one mebibyte on scratch under forty names would be forty outside; the total counts every name"}
const fs = require('fs');
fs.writeFileSync('/out/0', Buffer.alloc(1 << 20));
for (let n = 1; n < 40; n++) fs.linkSync('/out/0', `/out/${n}`);
console.log('amplified');
