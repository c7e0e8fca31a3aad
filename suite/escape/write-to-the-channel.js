// airlock-case: {"expect": "success", "has": "no way to the channel", "never": "BREACH", "quick": true, "note": "the port between agent and host has no node, no descriptor and no number by which the program could reach it"}
const fs = require('fs');
const hit = [];
for (const path of ['/dev/vport0p1', '/dev/vport1p1', '/dev/vport2p1', '/dev/vport3p1', '/dev/virtio-ports/airlock', '/dev/hvc0', '/dev/ttyS0', '/dev/console']) {
  try {
    fs.openSync(path, 'w');
    hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
const usual = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'fd', 'stdin', 'stdout', 'stderr', 'shm', 'mqueue'];
hit.push(...fs.readdirSync('/dev').filter((n) => !usual.includes(n)));
console.log(hit.length ? 'BREACH' : 'no way to the channel', hit.join(' '));
