// airlock-case: {"expect": "success", "has": "nothing got through", "never": "BREACH", "note": "tries to create a file in every directory that is not meant for writing; scratch itself must work"}
const fs = require('fs');
const hit = [];
for (const base of ['/', '/bin', '/boot', '/dev', '/etc', '/home', '/in', '/lib', '/mnt', '/opt', '/proc', '/proc/sys/kernel', '/root',
  '/run', '/sbin', '/srv', '/sys', '/usr', '/usr/bin', '/usr/local/bin', '/usr/share/nodejs', '/var', '/var/lib', '/var/log']) {
  try {
    fs.writeFileSync(base + '/planted', 'x');
    hit.push(base);
  } catch (e) {
    console.log(base, e.code);
  }
}
for (const base of ['/work', '/out', '/tmp', '/var/tmp', '/dev/shm']) {
  fs.writeFileSync(base + '/mine', 'x');
  fs.unlinkSync(base + '/mine');
}
console.log(hit.length ? 'BREACH' : 'nothing got through', hit.join(' '));
