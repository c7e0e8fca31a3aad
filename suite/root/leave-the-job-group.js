// airlock-case: {"expect": "success", "has": "left a daemon", "root": true, "note": "a daemon outside the job's control group and session ignores every signal; it ends with the machine at the latest"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const { spawn } = require('child_process');
const daemon = 'echo $$ >/sys/fs/cgroup/cgroup.procs; trap "" HUP INT QUIT TERM; while :; do sleep 1000; done';
spawn('/bin/sh', ['-c', daemon], { detached: true, stdio: 'ignore' }).unref();
setTimeout(() => console.log('left a daemon'), 500);
