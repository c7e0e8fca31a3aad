// airlock-case: {"expect": ["oom", "sandbox_failure", "user_exception", "timeout"], "has": "filling", "limits": {"mem_mib": 128, "wall_s": 30}, "root": true, "note": "files in memory belong to no process that could be killed; the whole machine fills up and its host does not"}
const fs = require('fs');
fs.writeSync(1, 'filling\n');
fs.writeFileSync('/sys/fs/cgroup/cgroup.procs', String(process.pid));
fs.writeFileSync('/proc/self/oom_score_adj', '-1000');
const block = Buffer.alloc(1 << 20);
for (const place of ['/dev/shm', '/dev']) { // /dev is a file system in memory without a size of its own for root
  try {
    const fd = fs.openSync(place + '/fill', 'w');
    for (;;) fs.writeSync(fd, block);
  } catch (e) {
    fs.writeSync(1, `${place} ${e.code}\n`);
  }
}
process.exit(1);
