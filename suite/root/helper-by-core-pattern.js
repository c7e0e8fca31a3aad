// airlock-case: {"expect": "user_exception", "signal": "SIGSEGV", "has": "crashing", "outputs": {}, "root": true, "note": "the kernel starts a program of root's choice for a core; it runs in the agent's world, which has no such file"}
const fs = require('fs');
fs.writeFileSync('/work/helper', '#!/bin/sh\necho here >/out/core\n', { mode: 0o755 });
fs.writeFileSync('/proc/sys/kernel/core_pattern', '|/work/helper');
fs.writeSync(1, 'crashing\n');
process.kill(process.pid, 'SIGSEGV');
