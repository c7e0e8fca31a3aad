// differential: {}
const net = require('net');
const dns = require('dns');
console.log(dns.getServers(), net.getDefaultAutoSelectFamily && net.getDefaultAutoSelectFamily(), require('http').METHODS.length);
net.connect(9, '127.0.0.1').on('error', (e) => console.log('tcp', e.code, e.syscall));
dns.lookup('example.org', (e) => console.log('dns', e.code));
const server = net.createServer((s) => s.end('over a socket')).listen('/tmp/sock', () => {
    net.connect('/tmp/sock').on('data', (d) => console.log(d.toString())).on('end', () => server.close());
});
