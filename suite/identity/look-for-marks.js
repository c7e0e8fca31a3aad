// airlock-case: {"expect": "success", "stdout": "no marks\n", "after": "identity/leave-marks", "note": "nothing of the job before is there: no file, no process, no socket, no shared memory, no message queue"}
const fs = require('fs');
const found = [];
for (const place of ['/', '/etc', '/work', '/out', '/tmp', '/var/tmp', '/dev/shm', '/dev', '/run', '/root', '/home', '/usr/local', '/in', '/mnt']) {
  if (fs.existsSync(place + '/airlock-mark')) found.push(place);
}
for (const place of ['/work', '/out', '/tmp', '/var/tmp', '/dev/shm']) {
  found.push(...fs.readdirSync(place).filter((n) => n !== 'main.js' && n !== 'lost+found'));
}
for (const pid of fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
  if (fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('987654')) found.push('process ' + pid);
}
console.log(found.length ? 'MARKS ' + found.join(' ') : 'no marks');
