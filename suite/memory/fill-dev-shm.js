// airlock-case: {"expect":"success","stdout":"ENOSPC\nbounded\n","limits":{"mem_mib":192},"note":"files in memory are a way around a limit on disk, and must not be one around the limit on memory","source":"https://github.com/superradcompany/microsandbox/issues/1007"}
const fs = require("fs");

const fd = fs.openSync("/dev/shm/fill", "w");
const block = Buffer.alloc(1 << 18, 0xaa);
let written = 0;
try {
  while (written < 2 ** 30) written += fs.writeSync(fd, block);
} catch (e) {
  console.log(e.code);
}
console.log(written > 48 << 20 && written < 192 << 20 ? "bounded" : written);
