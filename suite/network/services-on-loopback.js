// airlock-case: {"expect": "success", "has": "no service", "never": "BREACH", "note": "neither services of the host nor of the guest's own agent listen on the loopback addresses"}
const fs = require('fs');
const net = require('net');
const hit = [];
const attempt = (host, port) => new Promise((done) => {
  const s = net.connect({ host, port, timeout: 2000 });
  s.on('connect', () => { hit.push(`${host}:${port}`); s.destroy(); done(); });
  s.on('timeout', () => { s.destroy(); done(); });
  s.on('error', () => done());
});
(async () => {
  for (const host of ['127.0.0.1', '127.0.0.53', '0.0.0.0', '::1']) {
    for (const port of [22, 25, 53, 80, 111, 443, 631, 1024, 2375, 3306, 5432, 5900, 6379, 8080, 9090, 10250]) await attempt(host, port);
  }
  for (const table of ['tcp', 'tcp6']) {
    for (const line of fs.readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1)) {
      if (line.trim().split(/\s+/)[3] === '0A') hit.push(line);
    }
  }
  console.log(hit.length ? 'BREACH' : 'no service', hit.join(' '));
})();
