// differential: {"varies": [["d-[A-Za-z0-9]{6}", "d-N", "random by design"]]}
const fs = require('fs');
const dir = fs.mkdtempSync(`${require('os').tmpdir()}/d-`);
console.log(dir, fs.statSync(dir).mode.toString(8), fs.readdirSync('/tmp'), fs.readdirSync('/dev/shm'));
