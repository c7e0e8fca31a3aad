// airlock-case: {"expect": "success", "has": "named", "outputs": {"--help": 1, "-rf": 1, "...": 1, "..x": 1, ".hidden": 1, "~": 1}, "note": "names that a careless script takes for an option, a parent or a home directory"}
const fs = require('fs');
for (const name of ['-rf', '--help', '.hidden', '...', '..x', '~']) fs.writeFileSync('/out/' + name, '1');
console.log('named');
