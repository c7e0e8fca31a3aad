// airlock-case: {"expect": ["success", "sandbox_failure"], "has": "ruined", "limits": {"disk_mib": 16}, "root": true, "note": "the file system under work and outputs is overwritten while mounted; collection fails or finds rubbish, the host parses only the stream"}
const fs = require('fs');
fs.writeFileSync('/out/result', 'x'.repeat(100000));
const disk = fs.readdirSync('/sys/block').find((d) => d.startsWith('vd') && fs.readFileSync(`/sys/block/${d}/serial`, 'utf8').trim() === 'airlock-scratch');
fs.writeSync(1, 'ruined\n');
const fd = fs.openSync('/dev/' + disk, 'r+');
fs.fsyncSync(fd);
for (let at = 0; at < 16 << 20; at += 65536) fs.writeSync(fd, Buffer.alloc(65536, 0xff), 0, 65536, at);
fs.fsyncSync(fd);
fs.writeFileSync('/proc/sys/vm/drop_caches', '3');
