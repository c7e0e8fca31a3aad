// airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const line = Buffer.from('\x1b]0;owned\x07Kernel pan1c - not really: '.repeat(20));
for (const path of ['/dev/ttyS0', '/dev/kmsg']) {
  const fd = fs.openSync(path, 'w');
  const end = Date.now() + 1500;
  while (Date.now() < end) fs.writeSync(fd, line);
}
console.log('console flooded');
