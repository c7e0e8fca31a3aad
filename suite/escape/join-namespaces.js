// airlock-case: {"expect": "success", "has": "nothing to join", "never": "BREACH", "note": "the namespaces of the process above cannot be opened, so they cannot be joined; the program's own give nothing new"}
const fs = require('fs');
const hit = [];
for (const pid of [1, process.ppid]) {
  for (const kind of ['mnt', 'pid', 'net', 'user', 'ipc', 'uts', 'cgroup']) {
    try {
      hit.push(fs.readlinkSync(`/proc/${pid}/ns/${kind}`));
    } catch (e) { /* hidden */ }
    try {
      fs.openSync(`/proc/${pid}/ns/${kind}`, 'r');
      hit.push(`${pid} ${kind}`);
    } catch (e) { /* hidden */ }
  }
}
console.log(hit.length ? 'BREACH' : 'nothing to join', hit.join(' '));
