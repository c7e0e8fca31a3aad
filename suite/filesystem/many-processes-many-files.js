// airlock-case: {"expect": "success", "has": "all ended", "limits": {"pids": 16}, "outputs": {"done": 4}, "note": "a family of processes that each hold all their descriptors costs the guest only, and collection still works"}
const fs = require('fs');
const { spawn } = require('child_process');
fs.writeFileSync('/work/hoard', 'x');
const held = [];
try {
  for (;;) held.push(fs.openSync('/work/hoard', 'r'));
} catch (e) {
  console.log(e.code, 'held more than 900:', held.length > 900);
}
for (const fd of held.splice(0, 100)) fs.closeSync(fd);
for (let i = 0; i < 3; i++) { // each sleeper inherits hundreds of descriptors and outlives this process
  const child = spawn('/usr/bin/sleep', ['1000'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', ...held.slice(0, 500)] });
  child.unref();
}
fs.writeFileSync('/out/done', 'done');
console.log('all ended');
process.exit(0);
