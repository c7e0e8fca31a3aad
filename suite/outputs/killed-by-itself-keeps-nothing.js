// airlock-case: {"expect": "user_exception", "signal": "SIGKILL", "has": "written", "outputs": {}, "note": "a signal that a program sends to itself is its own end and no success, so nothing is exported"}
const fs = require('fs');
fs.writeFileSync('/out/result', 'x');
fs.writeSync(1, 'written\n');
process.kill(process.pid, 'SIGKILL');
