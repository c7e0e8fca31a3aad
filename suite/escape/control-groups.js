// airlock-case: {"expect": "success", "has": "limits kept", "never": "BREACH", "note": "the files that hold the program's limits are not mounted anywhere and cannot be mounted"}
const fs = require('fs');
const hit = [];
for (const path of ['/sys/fs/cgroup', '/sys/fs/cgroup/job', '/cgroup/job', '/run/cgroup', '/dev/cgroup']) {
  for (const name of ['memory.max', 'pids.max', 'cgroup.procs', 'cgroup.kill', 'release_agent']) {
    try {
      fs.writeFileSync(`${path}/${name}`, 'max');
      hit.push(`${path}/${name}`);
    } catch (e) { /* not there */ }
  }
}
if (/ - cgroup/.test(fs.readFileSync('/proc/self/mountinfo', 'utf8'))) hit.push('mounted');
console.log(fs.readFileSync('/proc/self/cgroup', 'utf8').trim());
console.log(hit.length ? 'BREACH' : 'limits kept', hit.join(' '));
