// airlock-case: {"expect": "success", "has": "nobody reached", "never": "BREACH", "note": "filters often forget IPv6: global, link-local, unique-local and mapped addresses are out of reach too"}
const net = require('net');
const hit = [];
const attempt = (host) => new Promise((done) => {
  const s = net.connect({ host, port: 443, timeout: 5000 });
  s.on('connect', () => { hit.push(host); s.destroy(); done('connected'); });
  s.on('timeout', () => { s.destroy(); done('SLOW'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  for (const host of ['2606:4700:4700::1111', '2001:4860:4860::8888', 'fd00::1', '::ffff:8.8.8.8', '64:ff9b::808:808', 'fd00:ec2::254']) {
    console.log(host, await attempt(host));
  }
  console.log(hit.length ? 'BREACH' : 'nobody reached', hit.join(' '));
})();
