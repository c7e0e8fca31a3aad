// airlock-case: {"expect": "success", "has": "talked to itself", "note": "what stays inside the machine is allowed: socket pairs and sockets with a path on scratch"}
const net = require('net');
const server = net.createServer((c) => c.end('pong'));
server.listen('/work/own.sock', () => {
  net.connect('/work/own.sock').on('data', (d) => {
    console.log(String(d) === 'pong' ? 'talked to itself' : 'SILENT');
    server.close();
  });
});
