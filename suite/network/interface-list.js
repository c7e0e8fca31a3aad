// airlock-case: {"expect": "success", "has": "only loopback", "note": "network is refused by there being no device, not by rules: the list of interfaces shows it"}
const fs = require('fs');
const os = require('os');
const table = (name, head) => fs.readFileSync('/proc/net/' + name, 'utf8').trim().split('\n').slice(head);
const devices = table('dev', 2).map((line) => line.split(':')[0].trim());
const up = Object.keys(os.networkInterfaces());
console.log(devices, up, table('route', 1), table('arp', 1));
const only = [...devices, ...up].every((n) => n === 'lo') && !table('route', 1).length && !table('arp', 1).length;
console.log(only ? 'only loopback' : 'MORE THAN LOOPBACK');
