// differential: {"inputs": {"a.json": "{\"n\": [1, 2.5, null]}", "t.csv": "a;b\n1;2\n"}}
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');
const doc = JSON.parse(fs.readFileSync('/in/a.json'));
fs.mkdirSync(`${process.env.OUT}/deep/er`, { recursive: true });
fs.writeFileSync('/out/deep/er/doc.json', JSON.stringify({ doc, rows: fs.readFileSync('/in/t.csv', 'utf8').trim().split('\n') }, null, 1));
fs.writeFileSync('/out/bytes.bin', Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
fs.writeFileSync('/out/raw.deflate', zlib.deflateRawSync('x'.repeat(10000)));
const stream = fs.createWriteStream('/out/stream.txt');
stream.write('by a stream ');
stream.end('and its end\n');
console.log(path.resolve('x'), fs.statSync('main.js').mode.toString(8), fs.readdirSync('.'), fs.readdirSync('/in'));
for (const to of ['/in/x', '/usr/x', '/x', '/proc/self/x', '/dev/x']) {
    try {
        fs.writeFileSync(to, '');
        console.log(to, 'written');
    } catch (e) {
        console.log(e.message);
    }
}
fs.promises.readFile('/in/t.csv', 'utf8').then((t) => console.log(t.length));
