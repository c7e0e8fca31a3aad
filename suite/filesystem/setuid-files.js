// airlock-case: {"expect": "success", "has": "no setuid file", "never": "BREACH", "note": "the image holds no setuid, setgid or capability-bearing file, and one made on scratch gives no identity"}
const fs = require('fs');
const { execFileSync } = require('child_process');
const hit = [];
let seen = 0;
const walk = (dir, depth) => {
  let entries = [];
  try { entries = fs.readdirSync(dir, { withFileTypes: true }); } catch (e) { return; }
  for (const e of entries) {
    const path = dir + '/' + e.name;
    if (e.isDirectory() && depth > 0) walk(path, depth - 1);
    if (!e.isFile()) continue;
    seen++;
    if (fs.lstatSync(path).mode & 0o6000) hit.push(path);
  }
};
for (const top of ['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/libexec', '/opt', '/usr/local']) walk(top, 1);
fs.copyFileSync('/usr/bin/id', '/work/who');
fs.chmodSync('/work/who', 0o6755);
const ids = execFileSync('/work/who', ['-u']).toString();
if (ids !== '1000\n') hit.push(ids);
console.log(hit.length ? 'BREACH' : 'no setuid file', hit.join(' '), 'looked at more than 200:', seen > 200);
