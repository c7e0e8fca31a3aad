// airlock-case: {"expect": "success", "has": "left swapping", "note": "a child that turns a file into a link and back for ever is dead before anything is looked at"}
const fs = require('fs');
const { spawn } = require('child_process');
fs.writeFileSync('/out/thing', 'file');
const loop = 'while :; do ln -sf /etc/passwd /out/thing; rm -f /out/thing; echo file >/out/thing; done';
spawn('/bin/sh', ['-c', loop], { detached: true, stdio: 'ignore' }).unref();
console.log('left swapping');
