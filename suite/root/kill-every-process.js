// airlock-case: {"expect": "sandbox_failure", "has": "killing", "root": true, "note": "the agent's helper dies with all others; without its report there is no end that could be believed"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'killing\n');
setTimeout(() => {
  process.kill(-1, 'SIGKILL');
  setTimeout(() => {}, 30000);
}, 500);
