// airlock-case: {"expect": "timeout", "which": "wall", "limits": {"wall_s": 3}, "outputs": {}, "note": "outputs that were complete before the deadline are not exported either when it strikes"}
const fs = require('fs');
fs.writeFileSync('/out/result', 'complete');
fs.writeSync(1, 'written\n');
setTimeout(() => {}, 1e8);
