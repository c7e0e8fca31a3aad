// airlock-case: {"expect": "success", "stdout": "EMPTY=\nGIVEN=grün = 1\nHOME=/work\nLANG=C.UTF-8\nOUT=/out\nPATH=/usr/local/bin:/usr/bin:/bin\n", "env": {"GIVEN": "grün = 1", "EMPTY": ""}, "quick": true, "note": "the environment is what the caller gave and four fixed names, nothing of the caller's own"}
const fs = require('fs');
const block = fs.readFileSync('/proc/self/environ', 'utf8');
process.stdout.write(block.split('\0').slice(0, -1).sort().map((entry) => entry + '\n').join(''));
