// airlock-case: {"expect": "success", "has": "known mounts", "note": "the mount table is the documented one: nothing of the host, nothing executable as another user, inputs read-only"}
const fs = require('fs');
const flags = {};
for (const line of fs.readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')) {
  const part = line.split(' ');
  flags[part[4]] = part[5].split(',');
}
const places = Object.keys(flags).filter((p) => !p.startsWith('/proc/')).sort();
let good = places.join() === '/,/dev,/dev/shm,/in,/out,/proc,/tmp,/var/tmp,/work' && flags['/in'].includes('ro') && flags['/proc'].includes('ro');
good = good && Object.values(flags).every((f) => f.includes('nosuid')) && places.every((p) => p === '/dev' || flags[p].includes('nodev'));
console.log(good ? 'known mounts' : 'OTHER MOUNTS', JSON.stringify(flags));
