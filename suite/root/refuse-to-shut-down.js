// airlock-case: {"expect": "timeout", "which": "wall", "has": "refusing", "limits": {"wall_s": 2}, "root": true, "note": "signals ignored, emergency keys off and the agent frozen: the machine has no say in its end, the monitor is killed"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'refusing\n');
for (const sig of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2']) process.on(sig, () => {});
for (const [path, value] of [['/proc/sys/kernel/sysrq', '0'], ['/proc/sys/kernel/ctrl-alt-del', '0'], ['/proc/self/oom_score_adj', '-1000'], ['/proc/sys/kernel/panic', '0']]) {
  fs.writeFileSync(path, value);
}
setTimeout(() => { // the agent still has to pass on what was written
  fs.mkdirSync('/sys/fs/cgroup/ice');
  fs.writeFileSync('/sys/fs/cgroup/ice/cgroup.procs', '1');
  fs.writeFileSync('/sys/fs/cgroup/ice/cgroup.freeze', '1');
}, 500);
setInterval(() => {}, 100000);
