// airlock-case: {"expect":"success","stdout":"before\nafter\n","note":"the program opens its own stdout again, truncates it and seeks in it: it is a pipe, so nothing is lost and nothing hangs"}
const fs = require("fs");

fs.writeSync(1, "before\n");
fs.closeSync(fs.openSync("/proc/self/fd/1", "w"));
for (const call of [() => fs.ftruncateSync(1, 0), () => fs.truncateSync("/dev/stdout", 0)]) {
  try {
    call();
    console.log("a pipe was truncated");
  } catch (e) {
    if (e.code !== "EINVAL") throw e;
  }
}
fs.writeSync(1, "after\n");
