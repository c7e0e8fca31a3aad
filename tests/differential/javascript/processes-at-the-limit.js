// differential: {"options": ["--pids", "32"], "varies": [["\\d+ started", "N started", "how many threads node has started yet"]]}
const { spawn } = require('child_process');
let started = 0;
for (let i = 0; i < 40; i++) {
    const child = spawn('sleep', ['100']);
    child.on('error', (e) => e.code !== 'EAGAIN' && console.log(e.code));
    started += child.pid ? 1 : 0;
}
console.log(started > 5 && started < 40);
process.exit(0);
