// airlock-case: {"expect":"success","stdout":"out of reach\n","note":"reading the memory or environment of the sandbox's process would give away everything it holds","source":"https://github.com/vm0-ai/vm0/issues/31040"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
const fs = require("fs");

const reached = [];
for (const name of ["mem", "environ", "maps", "root/etc/passwd", "exe", "cmdline", "fd/0", "stack"]) {
  try {
    reached.push(name, fs.readFileSync(`/proc/1/${name}`).subarray(0, 16));
  } catch (e) {
    if (!["ENOENT", "EACCES", "EPERM"].includes(e.code)) reached.push(name, e.code);
  }
}
console.log(reached.length === 0 ? "out of reach" : reached);
