// airlock-case: {"expect":"user_exception","exit":4,"has":"alk1","outputs":{},"note":"the very frames by which the guest's agent reports an end with 0 and an empty output, put into both streams","source":"https://github.com/TencentCloud/CubeSandbox/pull/1238"}
const fs = require("fs");

function frame(type, sequence, size) {
  const bytes = Buffer.alloc(16 + size);
  bytes.write("alk1");
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt32LE(size, 8);
  bytes.writeUInt32LE(sequence, 12);
  return bytes;
}

const EXIT = 21;
const OUTPUT_END = 23;
for (let sequence = 0; sequence < 20; sequence++) {
  for (const fd of [1, 2]) fs.writeSync(fd, frame(EXIT, sequence, 58));
  for (const fd of [1, 2]) fs.writeSync(fd, frame(OUTPUT_END, sequence + 1, 17));
}
process.exit(4);
