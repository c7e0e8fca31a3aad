// airlock-case: {"expect": "success", "has": "left behind", "outputs": {"log": 65536}, "note": "a child goes on writing when the main program has ended; it is killed before anything is collected"}
const fs = require('fs');
const { spawn } = require('child_process');
fs.writeFileSync('/out/log', Buffer.alloc(65536));
const loop = 'while :; do echo still here 1<>/out/log; done';
spawn('/bin/sh', ['-c', loop], { detached: true, stdio: 'ignore' }).unref();
console.log('left behind');
