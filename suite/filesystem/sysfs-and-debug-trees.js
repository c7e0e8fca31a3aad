// airlock-case: {"expect": "success", "has": "nothing to see", "never": "BREACH", "note": "sysfs, debugfs, tracefs, cgroupfs and the like show the machine's insides; none of them is there"}
const fs = require('fs');
const hit = [];
for (const path of ['/sys', '/sys/kernel', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/kernel/security', '/sys/fs/cgroup',
  '/sys/firmware', '/sys/class', '/sys/class/virtio-ports', '/sys/bus/pci', '/sys/module', '/proc/acpi', '/dev/pts', '/dev/mqueue',
  '/dev/hugepages']) {
  try {
    const names = fs.readdirSync(path);
    console.log(path, names.length);
    if (names.length && !path.startsWith('/proc')) hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
const known = ['overlay', 'tmpfs', 'squashfs', 'ext4', 'proc'];
for (const line of fs.readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')) {
  const kind = line.split(' - ')[1].split(' ')[0];
  if (!known.includes(kind)) hit.push(kind);
}
console.log(hit.length ? 'BREACH' : 'nothing to see', hit.join(' '));
