// airlock-case: {"expect": "success", "has": "no low port", "never": "BREACH", "note": "ports below 1024 stay closed to a program without rights"}
const net = require('net');
const hit = [];
const listen = (port) => new Promise((done) => {
  const s = net.createServer();
  s.on('error', (e) => done(e.code));
  s.listen(port, '0.0.0.0', () => { hit.push(port); s.close(); done('listening'); });
});
(async () => {
  for (const port of [1, 22, 53, 80, 443, 1023]) console.log(port, await listen(port));
  console.log(hit.length ? 'BREACH' : 'no low port', hit.join(' '));
})();
