// airlock-case: {"expect":"success","stdout":"read back 134217728\n","limits":{"mem_mib":112,"disk_mib":160},"note":"pages of files can be dropped: a program that writes more than its memory must not die of it"}
const fs = require("fs");

const block = Buffer.alloc(1 << 20, 0xaa);
const fd = fs.openSync("big", "w+");
for (let i = 0; i < 128; i++) fs.writeSync(fd, block);
let size = 0;
for (let n; (n = fs.readSync(fd, block, 0, block.length, size)) > 0; ) size += n;
console.log("read back", size);
