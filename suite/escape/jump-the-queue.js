// airlock-case: {"expect": "success", "has": "no preference", "never": "BREACH", "note": "real-time scheduling, a negative nice value or more processors would starve the agent"}
const os = require('os');
const { spawnSync } = require('child_process');
const hit = [];
for (const value of [-1, -20]) {
  try {
    os.setPriority(value);
    hit.push(String(value));
  } catch (e) {
    console.log(value, e.code);
  }
}
const done = spawnSync('/usr/bin/nice', ['-n', '-10', '/usr/bin/nice']);
if (Number(done.stdout) < 0) hit.push('nice');
console.log(hit.length || os.getPriority() < 0 ? 'BREACH' : 'no preference', hit.join(' '));
