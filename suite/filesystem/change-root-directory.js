// airlock-case: {"expect": "success", "has": "root unchanged", "never": "BREACH", "note": "chroot and pivot_root would let a program climb out of its root; both are refused to it"}
const fs = require('fs');
const { spawnSync } = require('child_process');
fs.mkdirSync('/work/jail');
const hit = [];
for (const args of [['/work/jail', '/bin/true'], ['/', '/bin/true'], ['--userspec=0:0', '/', '/usr/bin/id'], ['/work', '/bin/sh']]) {
  const done = spawnSync('/usr/sbin/chroot', args);
  if (done.status === 0 && args[0] !== '/') hit.push(args.join(' '));
  if (String(done.stdout).includes('uid=0')) hit.push('root');
  console.log(args.join(' '), done.status, String(done.stderr).trim());
}
console.log(hit.length ? 'BREACH' : 'root unchanged', hit.join(' '));
