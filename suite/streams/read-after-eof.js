// airlock-case: {"expect":"success","stdout":"one line\n0 0 0\n","stdin":"one line\n","limits":{"wall_s":6},"note":"the end of stdin stays the end, however often it is asked for","source":"https://github.com/ponylang/ponyc/pull/5763"}
const fs = require("fs");

const buffer = Buffer.alloc(100);
const size = fs.readSync(0, buffer);
process.stdout.write(buffer.subarray(0, size));
console.log(fs.readSync(0, buffer), fs.readSync(0, buffer), fs.readSync(0, buffer));
