// airlock-case: {"expect": "success", "has": "log closed", "never": "BREACH", "note": "the kernel's log tells addresses, can be flooded and carries the agent's complaints; it is neither read nor written"}
const fs = require('fs');
const hit = [];
for (const [path, mode] of [['/dev/kmsg', 'a'], ['/dev/kmsg', 'r'], ['/proc/kmsg', 'r'], ['/dev/log', 'a'], ['/dev/console', 'a'], ['/proc/sys/kernel/printk', 'r+']]) {
  try {
    const fd = fs.openSync(path, mode);
    if (mode !== 'r' || fs.readSync(fd, Buffer.alloc(1)) > 0) hit.push(`${path} ${mode}`);
  } catch (e) {
    console.log(path, mode, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'log closed', hit.join(' '));
