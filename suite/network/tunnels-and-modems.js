// airlock-case: {"expect": "success", "has": "no device to dial with", "never": "BREACH", "note": "devices that make network interfaces or serial lines (tun, ppp, vhost, virtual consoles) have no node"}
const fs = require('fs');
const hit = [];
for (const path of ['/dev/net/tun', '/dev/ppp', '/dev/vhost-net', '/dev/vhost-vsock', '/dev/ttyS0', '/dev/hvc0', '/dev/vport0p1',
  '/dev/vport1p1', '/dev/virtio-ports/airlock', '/dev/console', '/dev/tty0', '/dev/ttyUSB0', '/dev/uinput', '/dev/fuse', '/dev/kvm']) {
  try {
    fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
    hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'no device to dial with', hit.join(' '));
