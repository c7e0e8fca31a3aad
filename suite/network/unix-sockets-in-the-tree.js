// airlock-case: {"expect": "success", "has": "no foreign socket", "never": "BREACH", "note": "no socket of a container engine, system bus, log or agent lies anywhere in the tree"}
const fs = require('fs');
const net = require('net');
const hit = [];
const walk = (dir) => {
  if (dir === '/proc' || dir === '/usr') return;
  let entries = [];
  try { entries = fs.readdirSync(dir, { withFileTypes: true }); } catch (e) { return; }
  for (const e of entries) {
    const path = (dir === '/' ? '' : dir) + '/' + e.name;
    if (e.isSocket()) hit.push(path);
    if (e.isDirectory()) walk(path);
  }
};
const attempt = (path) => new Promise((done) => {
  const s = net.connect(path, () => { hit.push(path); s.destroy(); done('connected'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  walk('/');
  for (const path of ['/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket', '/run/systemd/private',
    '/dev/log', '/run/podman/podman.sock', '/tmp/.X11-unix/X0']) console.log(path, await attempt(path));
  console.log(hit.length ? 'BREACH' : 'no foreign socket', hit.join(' '));
})();
