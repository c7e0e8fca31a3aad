// airlock-case: {"expect": "success", "has": "special files made", "outputs": {}, "dropped": 3, "note": "opening a FIFO blocks and a socket cannot be read; both are dropped without being opened"}
const net = require('net');
const { execFileSync } = require('child_process');
execFileSync('/usr/bin/mkfifo', ['/out/fifo', '/out/closed']);
net.createServer().listen('/out/socket', () => {
  console.log('special files made');
  process.exit(0); // without closing the server, which would remove its socket
});
