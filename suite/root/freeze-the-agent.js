// airlock-case: {"expect": "timeout", "which": "wall", "has": "frozen", "limits": {"wall_s": 8}, "root": true, "note": "an agent in a frozen control group answers nothing; only the host's clock ends the job"}
const fs = require('fs');
fs.writeSync(1, 'frozen\n');
fs.mkdirSync('/sys/fs/cgroup/ice');
fs.writeFileSync('/sys/fs/cgroup/ice/cgroup.procs', '1');
fs.writeFileSync('/sys/fs/cgroup/ice/cgroup.freeze', '1');
setInterval(() => {}, 100000);
