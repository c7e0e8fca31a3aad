// airlock-case: {"expect": ["success", "timeout", "sandbox_failure"], "has": "sleeping", "limits": {"wall_s": 8}, "root": true, "note": "a suspended machine answers nothing and would wait for a key for ever; the wall limit does not sleep"}
const fs = require('fs');
fs.writeSync(1, 'sleeping\n');
for (const [path, value] of [['/sys/power/state', 'freeze'], ['/sys/power/state', 'mem'], ['/sys/power/disk', 'reboot'], ['/sys/power/state', 'disk']]) {
  try {
    fs.writeFileSync(path, value);
  } catch (e) {
    fs.writeSync(1, `${path} ${value} ${e.code}\n`);
  }
}
