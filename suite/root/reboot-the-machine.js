// airlock-case: {"expect": "sandbox_failure", "has": "rebooting", "never": "STILL HERE", "root": true, "note": "a machine that reboots is over: it must not come back and start again, and its end is not the program's success"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'rebooting\n');
setTimeout(() => {
  fs.writeFileSync('/proc/sysrq-trigger', 'b');
  setTimeout(() => fs.writeSync(1, 'STILL HERE\n'), 30000);
}, 500);
