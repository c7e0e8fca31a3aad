// airlock-case: {"expect": "success", "has": "a plain user", "never": "BREACH", "quick": true, "note": "the program is user 1000 in group 1000 without other groups, has no capability, gains none by exec and can become nobody else"}
const fs = require('fs');
const os = require('os');
const { execFileSync } = require('child_process');
const ids = [process.getuid(), process.geteuid(), process.getgid(), process.getegid()];
const me = os.userInfo();
console.log(ids, process.getgroups(), me.username, me.homedir, process.cwd());
let good = ids.every((id) => id === 1000) && process.getgroups().every((g) => g === 1000) && me.username === 'user' && process.cwd() === '/work';
const status = fs.readFileSync('/proc/self/status', 'utf8') + execFileSync('/usr/bin/cat', ['/proc/self/status']);
const rights = status.split('\n').filter((line) => /^(Cap|NoNewPrivs)/.test(line)).map((line) => line.split(/\s+/));
good = good && rights.length === 12 && rights.every(([k, v]) => parseInt(v, 16) === (k === 'NoNewPrivs:' ? 1 : 0));
for (const [name, action] of Object.entries({ setuid: () => process.setuid(0), setgid: () => process.setgid(0), setgroups: () => process.setgroups([0]),
  other: () => process.setuid(65534) })) {
  try {
    action();
    console.log('BREACH', name);
  } catch (e) {
    console.log(name, e.code);
  }
}
console.log(good ? 'a plain user' : 'SOMEBODY ELSE', rights.join(' '));
