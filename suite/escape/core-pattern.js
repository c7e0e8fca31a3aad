// airlock-case: {"expect": "user_exception", "signal": "SIGSEGV", "has": "pattern kept", "never": "BREACH", "outputs": {}, "note": "a core pattern that starts a program runs it as root outside every namespace; it cannot be set, and a crash leaves no core"}
const fs = require('fs');
const before = fs.readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
for (const path of ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/core_uses_pid', '/proc/sys/fs/suid_dumpable']) {
  try {
    fs.writeFileSync(path, '|/work/main.js');
    fs.writeSync(1, `BREACH ${path}\n`);
  } catch (e) {
    fs.writeSync(1, `${path} ${e.code}\n`);
  }
}
fs.writeSync(1, fs.readFileSync('/proc/sys/kernel/core_pattern', 'utf8') === before ? 'pattern kept\n' : 'BREACH\n');
process.chdir('/out');
process.kill(process.pid, 'SIGSEGV');
