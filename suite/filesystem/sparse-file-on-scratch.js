// airlock-case: {"expect": "success", "has": "few blocks", "limits": {"disk_mib": 16}, "outputs": {}, "note": "a file of a terabyte without blocks on scratch is nobody's problem as long as it is no output"}
const fs = require('fs');
const fd = fs.openSync('/work/huge', 'w+');
fs.ftruncateSync(fd, 2 ** 40);
for (const at of [0, 2 ** 30, 2 ** 39, 2 ** 40 - 1]) fs.writeSync(fd, 'x', at);
const s = fs.fstatSync(fd);
console.log('size', s.size, s.blocks < 400 ? 'few blocks' : 'MANY BLOCKS');
