// airlock-case: {"expect": "success", "has": "heard by nobody else", "note": "a program may listen, but nothing beyond its own machine can hear; the loopback device is down and stays down"}
const fs = require('fs');
const net = require('net');
const server = net.createServer().listen(0, '0.0.0.0', () => {
  const s = net.connect({ host: '127.0.0.1', port: server.address().port, timeout: 2000 });
  const end = (how) => {
    console.log('own connection:', how);
    const devices = fs.readFileSync('/proc/net/dev', 'utf8').split(':').length - 1;
    console.log(devices === 1 ? 'heard by nobody else' : 'MORE INTERFACES');
    process.exit(0);
  };
  s.on('connect', () => end('made'));
  s.on('timeout', () => end('timeout'));
  s.on('error', (e) => end(e.code));
});
