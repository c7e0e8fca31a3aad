// airlock-case: {"expect": "success", "has": "no gateway", "never": "BREACH", "note": "addresses at which emulators and container engines usually show the host to its guests"}
const net = require('net');
const hit = [];
const attempt = (host, port) => new Promise((done) => {
  const s = net.connect({ host, port, timeout: 5000 });
  s.on('connect', () => { hit.push(`${host}:${port}`); s.destroy(); done('connected'); });
  s.on('timeout', () => { s.destroy(); done('SLOW'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  for (const host of ['10.0.2.2', '10.0.2.3', '10.0.2.4', '172.17.0.1', '192.168.122.1', '192.168.127.1']) {
    console.log(host, await attempt(host, 22), await attempt(host, 2375), await attempt(host, 5900));
  }
  console.log(hit.length ? 'BREACH' : 'no gateway', hit.join(' '));
})();
