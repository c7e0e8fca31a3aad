// airlock-case: {"expect": "success", "has": "no trap sprung", "never": "BREACH", "outputs": {}, "note": "links planted in the shared sticky directories must not turn a later write into one at their target"}
const fs = require('fs');
const hit = [];
const targets = ['/etc/passwd', '/etc/ld.so.preload', '/usr/bin/node', '/in/x', '/proc/sys/kernel/core_pattern', '/root/x'];
for (const place of ['/tmp', '/var/tmp', '/work', '/dev/shm']) {
  targets.forEach((target, n) => {
    const link = `${place}/trap${n}`;
    fs.symlinkSync(target, link);
    try {
      fs.appendFileSync(link, '');
      hit.push(`${link} to ${target}`);
    } catch (e) {
      console.log(link, target, e.code);
    }
  });
}
console.log(hit.length ? 'BREACH' : 'no trap sprung', hit.join(', '));
