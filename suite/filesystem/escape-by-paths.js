// airlock-case: {"expect": "success", "has": "same root everywhere", "never": "BREACH", "note": "chains of .. stop at the job's root, and the magic links of /proc (root, cwd, fd) lead nowhere else; those of other processes are closed"}
const fs = require('fs');
const root = fs.statSync('/');
const hit = [];
for (const path of ['/..', '/work' + '/..'.repeat(1000), '/in/../../../etc/..', '/dev/shm/../../../../..', '/proc/self/root', '/proc/self/root/..', '/proc/thread-self/root/../..', '/proc/self/cwd/../../..',
  `/proc/${process.ppid}/root`, '/proc/1/root', '/proc/1/cwd', '/proc/1/root/proc/1/root', '/proc/1/fd/0', '/proc/1/exe',
  '/proc/1/task/1/root', '/proc/2/../1/cwd', '/proc/3/root']) {
  try {
    const there = fs.statSync(path);
    if (there.dev !== root.dev || there.ino !== root.ino) hit.push(path);
    console.log(path.slice(0, 40), 'own root');
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'same root everywhere', hit.join(' '));
