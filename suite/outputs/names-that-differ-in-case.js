// airlock-case: {"expect": "success", "has": "four names", "note": "on a file system that ignores case the second of these would replace the first"}
const fs = require('fs');
for (const name of ['readme', 'README', 'ReadMe', 'stra\u00dfe']) fs.writeFileSync('/out/' + name, name);
console.log(fs.readdirSync('/out').length === 4 ? 'four names' : 'MERGED');
