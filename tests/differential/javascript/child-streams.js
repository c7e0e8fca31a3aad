// differential: {"stdin": "for the child\n"}
const { spawn } = require('child_process');
const child = spawn('cat', { stdio: ['inherit', 'pipe', 'inherit'] });
child.stdout.on('data', (d) => console.log('child wrote', d.toString()));
child.on('close', (code, sig) => console.log('close', code, sig, child.pid - process.pid > 0));
const killed = spawn('sleep', ['100']);
killed.on('exit', (code, sig) => console.log('killed', code, sig, killed.killed));
killed.kill();
