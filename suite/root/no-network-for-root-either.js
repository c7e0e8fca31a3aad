// airlock-case: {"expect": "success", "has": "no wire", "never": "BREACH", "root": true, "note": "with every right in the guest there is still no device: only loopback, and what root makes up itself leads nowhere"}
const fs = require('fs');
const net = require('net');
const hit = fs.readdirSync('/sys/class/net').filter((n) => n !== 'lo');
for (const d of fs.existsSync('/sys/bus/pci/devices') ? fs.readdirSync('/sys/bus/pci/devices') : []) {
  if (fs.readFileSync(`/sys/bus/pci/devices/${d}/class`, 'utf8').startsWith('0x02')) hit.push(d);
}
const attempt = (host) => new Promise((done) => {
  const s = net.connect({ host, port: 80, timeout: 3000 }, () => { hit.push(host); s.destroy(); done('connected'); });
  s.on('timeout', () => { s.destroy(); done('timeout'); });
  s.on('error', (e) => done(e.code));
});
(async () => {
  for (const host of ['10.0.2.2', '169.254.169.254', '8.8.8.8']) console.log(host, await attempt(host));
  console.log(hit.length ? 'BREACH' : 'no wire', hit.join(' '));
})();
