// airlock-case: {"expect": "success", "has": "writing", "limits": {"wall_s": 6}, "root": true, "note": "a kilobyte into every device node there is, consoles, ports, memory, watchdogs and disks; whatever breaks is inside the machine"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'writing\n');
const flags = fs.constants.O_WRONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY;
const walk = (dir) => {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const path = dir + '/' + e.name;
    if (e.isDirectory()) walk(path);
    if (!e.isCharacterDevice() && !e.isBlockDevice()) continue;
    try {
      const fd = fs.openSync(path, flags);
      fs.writeSync(fd, Buffer.alloc(1024, 0xa5));
      fs.closeSync(fd);
    } catch (x) { /* refused or gone */ }
  }
};
walk('/dev');
