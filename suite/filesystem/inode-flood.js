// airlock-case: {"expect": "success", "has": "ENOSPC", "limits": {"inodes": 200}, "outputs": {}, "note": "empty files cost no blocks; their number is bounded all the same"}
const fs = require('fs');
let made = 0;
try {
  while (made < 5000) fs.closeSync(fs.openSync(`/work/${made++}`, 'w'));
} catch (e) {
  made--;
  console.log(e.code, 'about the limit:', made >= 190 && made <= 200);
}
for (let n = 0; n < made; n++) fs.unlinkSync(`/work/${n}`);
fs.writeFileSync('/work/again', '');
console.log('room again');
