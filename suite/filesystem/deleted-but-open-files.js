// airlock-case: {"expect": "success", "has": "ENOSPC", "never": "BREACH", "limits": {"disk_mib": 8}, "outputs": {}, "note": "space of files that have no name any more still counts against the disk limit"}
const fs = require('fs');
const block = Buffer.alloc(262144, 'x');
let done = 0, held = 0;
try {
  while (done < 64 << 20) {
    const fd = fs.openSync('/work/ghost', 'w');
    held++;
    fs.unlinkSync('/work/ghost');
    done += fs.writeSync(fd, block);
  }
  console.log('BREACH');
} catch (e) {
  console.log(e.code, 'nameless:', held > 10, 'bounded:', done <= 8 << 20);
}
