// airlock-case: {"expect": "success", "has": "all alone", "note": "small process numbers, no process of the agent or the kernel in sight, and no descriptor of theirs handed down"}
const fs = require('fs');
const seen = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
console.log(process.pid, process.ppid, seen.join());
// What the runtime opens for itself: event queues, wake-up pipes, the null device.
const own = /^(anon_inode:|pipe:|\/dev\/null)/;
const fds = [];
for (const fd of fs.readdirSync('/proc/self/fd').filter((n) => n > 2)) {
  try { fds.push(fs.readlinkSync('/proc/self/fd/' + fd)); } catch (e) { /* the listing's own */ }
}
const alone = process.pid < 10 && seen.length === 1 && seen[0] === process.pid && fds.every((f) => own.test(f));
console.log(alone ? 'all alone' : 'COMPANY', fds.join(' '));
