// airlock-case: {"expect": "success", "has": "marks left", "note": "leaves a mark in every place that can be written; the next case looks for them from another machine"}
const fs = require('fs');
const { spawn } = require('child_process');
const left = [];
for (const place of ['/', '/etc', '/work', '/out', '/tmp', '/var/tmp', '/dev/shm', '/dev', '/run', '/root', '/home', '/usr/local', '/in', '/dev/mqueue', '/mnt']) {
  try {
    fs.writeFileSync(place + '/airlock-mark', 'was here');
    left.push(place);
  } catch (e) { /* closed, as it should be */ }
}
spawn('/usr/bin/sleep', ['987654'], { detached: true, stdio: 'ignore' }).unref();
console.log('marks left', left.join(' '));
