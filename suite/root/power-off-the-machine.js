// airlock-case: {"expect": "sandbox_failure", "has": "off", "never": "STILL HERE", "root": true, "note": "a machine that is halted or switched off reports nothing any more; the host does not wait beyond its limit"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'off\n');
setTimeout(() => fs.writeFileSync('/proc/sysrq-trigger', 'o'), 500);
setTimeout(() => fs.writeSync(1, 'STILL HERE\n'), 60000);
