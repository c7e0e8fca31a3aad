// airlock-case: {"expect": "sandbox_failure", "has": "panicking", "never": "STILL HERE", "events": ["kernel_panic"], "root": true, "quick": true, "note": "a kernel that panics takes the agent with it; the monitor may end with status 0 then, which is no success"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'panicking\n');
setTimeout(() => {
  fs.writeFileSync('/proc/sysrq-trigger', 'c');
  setTimeout(() => fs.writeSync(1, 'STILL HERE\n'), 30000);
}, 500);
