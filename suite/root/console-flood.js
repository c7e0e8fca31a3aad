// airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const line = Buffer.from('\x1b]0;owned\x07Kernel pan1c - not really: '.repeat(20));
const flood = (write) => {
  const end = Date.now() + 1500;
  while (Date.now() < end) write();
};
try {
  const fd = fs.openSync('/dev/ttyS0', 'w');
  flood(() => fs.writeSync(fd, line));
} catch { // a serial port that can only transmit has no driver: its register, then
  const fd = fs.openSync('/dev/port', 'r+');
  let at = 0;
  flood(() => fs.writeSync(fd, line, at++ % line.length, 1, 0x3f8));
}
const kmsg = fs.openSync('/dev/kmsg', 'w');
flood(() => fs.writeSync(kmsg, line));
console.log('console flooded');
