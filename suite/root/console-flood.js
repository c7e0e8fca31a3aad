// airlock-case: {"expect": "success", "has": "console flooded", "root": true, "note": "the console is kept as a bounded, escaped tail; megabytes of forged panics and terminal escapes on it change nothing"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const line = Buffer.from('\x1b]0;owned\x07Kernel pan1c - not really: '.repeat(20));
const flood = (path, data) => {
  const fd = fs.openSync(path, 'w');
  const end = Date.now() + 1500;
  while (Date.now() < end) fs.writeSync(fd, data);
};
try {
  flood('/dev/ttyS0', line);
} catch (reason) { // a serial port that can only transmit has no driver
  console.log('no driver:', reason.message);
}
fs.writeFileSync('/proc/sys/kernel/printk_devkmsg', 'on\n');
flood('/dev/kmsg', Buffer.concat([Buffer.from('<0>'), line])); // so urgent that the kernel prints it
console.log('console flooded');
