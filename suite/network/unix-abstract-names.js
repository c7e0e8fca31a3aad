// airlock-case: {"expect": "success", "has": "no foreign name", "never": "BREACH", "note": "abstract socket names ignore the file system, so only the network namespace keeps them apart"}
const fs = require('fs');
const net = require('net');
const hit = [];
const attempt = (name) => new Promise((done) => {
  const s = net.connect(name, () => { hit.push(JSON.stringify(name)); s.destroy(); done('connected'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  for (const name of ['\0/tmp/.X11-unix/X0', '\0/tmp/dbus-1', '\0@/containerd-shim', '\0airlock', '\0snapd']) {
    console.log(JSON.stringify(name), await attempt(name));
  }
  const listed = fs.readFileSync('/proc/net/unix', 'utf8').trim().split('\n').slice(1);
  hit.push(...listed.map((line) => line.trim().split(/\s+/)[7]).filter((name) => name !== undefined));
  console.log(hit.length ? 'BREACH' : 'no foreign name', hit.join(' '));
})();
