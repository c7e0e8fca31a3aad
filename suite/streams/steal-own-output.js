// airlock-case: {"expect":"success","stdout":"before\nafter\n","note":"the program opens its own stdout again and truncates what is on its way: refused or without effect, and nothing hangs"}
const fs = require("fs");

fs.writeSync(1, "before\n");
const attacks = [
  () => fs.closeSync(fs.openSync("/proc/self/fd/1", "w")),
  () => fs.truncateSync("/dev/stdout", 0),
  () => fs.ftruncateSync(1, 0),
];
for (const attack of attacks) {
  try {
    attack();
  } catch (e) {
    if (!["EACCES", "EINVAL"].includes(e.code)) throw e;
  }
}
fs.writeSync(1, "after\n");
