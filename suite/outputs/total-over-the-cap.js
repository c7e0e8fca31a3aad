// airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "each below", "limits": {"out_total_kib": 64}, "outputs": {}, "note": "no single file is over the cap, but their sum is by one byte; then none is kept"}
const fs = require('fs');
for (let n = 0; n < 4; n++) fs.writeFileSync(`/out/part${n}`, 'x'.repeat(16384 + (n === 3 ? 1 : 0)));
console.log('each below');
