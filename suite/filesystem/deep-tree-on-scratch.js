// airlock-case: {"expect": "success", "has": "levels", "limits": {"inodes": 4000}, "outputs": {}, "note": "a tree of thousand levels on scratch, deeper than recursive removal likes, ends with the machine"}
const fs = require('fs');
process.chdir('/work');
for (let n = 0; n < 1000; n++) {
  fs.mkdirSync('d');
  process.chdir('d');
}
fs.writeFileSync('bottom', '');
let up = 0;
while (process.cwd() !== '/work') {
  process.chdir('..');
  up++;
}
console.log('levels', up);
