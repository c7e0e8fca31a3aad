// airlock-case: {"expect": "success", "has": "nothing rewritten", "never": "BREACH", "note": "files of /proc/self that change identity maps, labels, scores or memory are closed, also through the thread directories"}
const fs = require('fs');
const hit = [];
for (const base of ['/proc/self', '/proc/thread-self', `/proc/self/task/${process.pid}`]) {
  for (const name of ['uid_map', 'gid_map', 'projid_map', 'setgroups', 'loginuid', 'attr/current', 'attr/exec', 'coredump_filter', 'oom_adj', 'autogroup',
    'timens_offsets', 'clear_refs', 'make-it-fail', 'sched']) {
    try {
      fs.closeSync(fs.openSync(`${base}/${name}`, 'r+'));
      hit.push(`${base}/${name}`);
    } catch (e) { /* closed */ }
  }
}
console.log(hit.length ? 'BREACH' : 'nothing rewritten', hit.join(' '));
