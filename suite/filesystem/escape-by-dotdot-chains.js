// airlock-case: {"expect": "success", "has": "the top is the top", "never": "BREACH", "note": "long chains of .., from paths and from open directories, must stop at the job's root"}
const fs = require('fs');
const root = fs.statSync('/');
const hit = [];
for (const path of ['/..', '/../../../..', '/work' + '/..'.repeat(1000), '/in/../../../../etc/..', '/usr/bin/../../../..',
  '/dev/shm/../../../../../..']) {
  const s = fs.statSync(path);
  if (s.dev !== root.dev || s.ino !== root.ino) hit.push(path.slice(0, 40));
}
for (const base of ['/work', '/in', '/out', '/tmp']) {
  process.chdir(base);
  process.chdir('../'.repeat(50));
  if (process.cwd() !== '/') hit.push(process.cwd());
}
console.log(hit.length ? 'BREACH' : 'the top is the top', hit.join(' '));
