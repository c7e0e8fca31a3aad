// differential: {"stdin_bytes": 3000000}
const hash = require('crypto').createHash('sha256');
let n = 0;
process.stdin.on('data', (d) => {
    n += d.length;
    hash.update(d);
}).on('end', () => console.log(n, hash.digest('hex')));
