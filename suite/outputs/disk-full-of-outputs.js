// airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "ENOSPC", "limits": {"disk_mib": 8, "out_total_kib": 1024}, "outputs": {}, "note": "a scratch disk filled to its last block by outputs is still collected in order"}
const fs = require('fs');
const fd = fs.openSync('/out/all', 'w');
const block = Buffer.alloc(65536);
try {
  for (;;) fs.writeSync(fd, block);
} catch (e) {
  console.log(e.code);
}
