// airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "sparse", "outputs": {}, "quick": true, "note": "a file of a terabyte that takes no block is over the cap by its size and must be found without reading it"}
const fs = require('fs');
const fd = fs.openSync('/out/huge', 'w+');
fs.ftruncateSync(fd, 2 ** 40);
fs.writeSync(fd, 'x', 2 ** 40 - 1);
console.log('sparse', fs.fstatSync(fd).blocks < 100);
