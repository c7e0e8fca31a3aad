// airlock-case: {"expect": "success", "has": "switched", "limits": {"vcpus": 2}, "root": true, "note": "a processor is taken offline and brought back while the machine runs; limits and report go on"}
const fs = require('fs');
for (const value of '0101') fs.writeFileSync('/sys/devices/system/cpu/cpu1/online', value);
console.log('switched', fs.readFileSync('/sys/devices/system/cpu/online', 'utf8').trim());
