// airlock-case: {"expect": "success", "has": "more than allowed", "limits": {"pids": 24}, "root": true, "note": "root of the guest can lift the guest's own limit on processes; the documentation says so, and the host's bounds stay"}
const fs = require('fs');
const { spawn } = require('child_process');
fs.writeFileSync('/sys/fs/cgroup/job/pids.max', 'max');
let children = 0;
for (let i = 0; i < 30; i++) children += spawn('/usr/bin/sleep', ['1000'], { stdio: 'ignore' }).pid > 0;
console.log('more than allowed', children);
process.exit(0);
