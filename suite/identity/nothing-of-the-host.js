// airlock-case: {"expect": "success", "has": "nothing told", "never": "TOLD", "note": "kernel command line, mounts, environment, hosts file and kernel release name neither the host, its users, its paths nor the job"}
const fs = require('fs');
let seen = '';
for (const path of ['/proc/cmdline', '/proc/self/mountinfo', '/proc/self/environ', '/proc/self/cmdline', '/proc/1/cmdline', '/proc/1/environ', '/etc/hosts',
  '/etc/hostname', '/etc/resolv.conf', '/proc/self/cgroup', '/proc/sys/kernel/core_pattern', '/proc/version', '/etc/fstab', '/etc/mtab', '/proc/modules']) {
  try {
    const text = fs.readFileSync(path, 'latin1');
    console.log(path, text.length > 0);
    seen += text;
  } catch (e) {
    console.log(path, e.code);
  }
}
const bad = seen.match(/\/home\/|\/root\/|\/srv\/|\/tmp\/st|airlock-sup|slots\/|objects\/|qemu|token|secret|password|ssh-|machine_id|job=/gi);
console.log(bad ? 'TOLD ' + bad.join() : 'nothing told');
