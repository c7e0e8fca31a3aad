// airlock-case: {"expect": "success", "has": "same root everywhere", "never": "BREACH", "note": "the magic links of /proc (root, cwd, fd) must lead nowhere but into the job's own root; those of other processes are closed"}
const fs = require('fs');
const root = fs.statSync('/');
const hit = [];
for (const path of ['/proc/self/root', '/proc/self/root/..', '/proc/thread-self/root/../..', '/proc/self/cwd/../../..',
  `/proc/${process.ppid}/root`, '/proc/1/root', '/proc/1/cwd', '/proc/1/root/proc/1/root', '/proc/1/fd/0', '/proc/1/exe',
  '/proc/1/task/1/root', '/proc/2/../1/cwd', '/proc/3/root']) {
  try {
    const there = fs.statSync(path);
    if (there.dev !== root.dev || there.ino !== root.ino) hit.push(path);
    console.log(path, 'own root');
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'same root everywhere', hit.join(' '));
