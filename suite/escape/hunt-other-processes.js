// airlock-case: {"expect": "success", "has": "nobody to harm", "never": "BREACH", "note": "signals, tracing, memory, priority and limits of every pid around: only the program's own process answers"}
const fs = require('fs');
const os = require('os');
const hit = [];
// Threads of this process answer to their own numbers; they are not others.
const own = new Set([process.pid, ...fs.readdirSync('/proc/self/task').map(Number)]);
for (let pid = 1; pid < 100; pid++) {
  if (own.has(pid)) continue;
  const tries = {
    signal: () => process.kill(pid, 0), end: () => process.kill(pid, 'SIGKILL'), reboot: () => process.kill(pid, 'SIGINT'), stop: () => process.kill(pid, 'SIGSTOP'),
    memory: () => fs.openSync(`/proc/${pid}/mem`, 'r+'), maps: () => fs.readFileSync(`/proc/${pid}/maps`), files: () => fs.readdirSync(`/proc/${pid}/fd`), nice: () => os.setPriority(pid, 19),
  };
  for (const [name, action] of Object.entries(tries)) {
    try {
      action();
      hit.push(`${pid} ${name}`);
    } catch (e) { /* refused */ }
  }
}
console.log(hit.length ? 'BREACH' : 'nobody to harm', hit.join(', '));
