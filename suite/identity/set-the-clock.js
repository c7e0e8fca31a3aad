// airlock-case: {"expect": "success", "has": "clock kept", "never": "BREACH", "note": "the guest's clock cannot be set, shifted or slewed by a program without rights"}
const { spawnSync } = require('child_process');
const fs = require('fs');
const hit = [];
for (const when of ['@1', '2038-01-19', '+1 year']) {
  const done = spawnSync('/usr/bin/date', ['-s', when]);
  if (done.status === 0) hit.push(when);
  console.log(when, String(done.stderr).trim());
}
for (const path of ['/dev/rtc0', '/dev/rtc', '/dev/ptp0', '/dev/hpet']) if (fs.existsSync(path)) hit.push(path);
console.log(hit.length || new Date().getUTCFullYear() < 2025 ? 'BREACH' : 'clock kept', hit.join(' '));
