// airlock-case: {"expect": "success", "has": "nobody reached", "never": "BREACH", "quick": true, "note": "connections to public and private addresses, to the gateways of emulators and to the metadata services of clouds fail at once, without waiting for a time-out"}
const net = require('net');
const hosts = ['1.1.1.1', '8.8.8.8', '10.0.0.1', '192.168.1.1', '10.0.2.2', '10.0.2.3', '172.17.0.1', '192.168.122.1', '192.168.127.1',
  '169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '255.255.255.255'];
let hit = 0;
const attempt = (host, port) => new Promise((done) => {
  const s = net.connect({ host, port, timeout: 5000 });
  s.on('connect', () => { hit++; s.destroy(); done('connected'); });
  s.on('timeout', () => { s.destroy(); done('timeout'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  const start = process.hrtime.bigint();
  for (const host of hosts) console.log(host, await attempt(host, 80), await attempt(host, 443));
  const quick = process.hrtime.bigint() - start < 5000000000n;
  console.log(hit ? 'BREACH' : quick ? 'nobody reached' : 'SLOW');
})();
