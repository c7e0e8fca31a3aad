// airlock-case: {"expect": "success", "has": "ENOSPC", "limits": {"disk_mib": 8}, "outputs": {}, "quick": true, "note": "writing until the disk is full gives ENOSPC near the limit, and the job still ends in order"}
const fs = require('fs');
const block = Buffer.alloc(65536, 'x');
let done = 0;
const fd = fs.openSync('/work/flood', 'w');
try {
  while (done < 64 << 20) done += fs.writeSync(fd, block);
} catch (e) {
  console.log(e.code, 'below the limit:', done > 4 << 20 && done <= 8 << 20);
}
for (const other of ['/tmp/more', '/var/tmp/more']) {
  try {
    fs.writeFileSync(other, Buffer.alloc(4 << 20, 'y'));
    console.log('BREACH', other);
  } catch (e) {
    console.log(other, e.code);
  }
}
