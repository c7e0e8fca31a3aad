// airlock-case: {"expect": "success", "has": "all bounded", "never": "BREACH", "limits": {"mem_mib": 256, "disk_mib": 8}, "outputs": {}, "note": "/dev/shm is bounded by half the memory limit, /tmp and /var/tmp share the disk limit, nothing else takes bytes"}
const fs = require('fs');
const bounds = { '/dev/shm': 128 << 20, '/tmp': 8 << 20, '/var/tmp': 8 << 20, '/run': 0, '/dev': 0 };
const block = Buffer.alloc(1 << 20);
for (const [place, bound] of Object.entries(bounds)) {
  let done = 0, end = 'none', fd = -1;
  try {
    fd = fs.openSync(place + '/fill', 'w');
    while (done <= 2 * bound) done += fs.writeSync(fd, block);
  } catch (e) {
    end = e.code;
  }
  console.log(place, end);
  if (end === 'none' || done > bound) console.log('BREACH', place, done);
  if (fd >= 0) {
    fs.closeSync(fd);
    fs.unlinkSync(place + '/fill');
  }
}
console.log('all bounded');
