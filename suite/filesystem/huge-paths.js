// airlock-case: {"expect": "success", "has": "paths are bounded", "outputs": {}, "note": "names over 255 bytes and paths over 4096 are refused as such, and a tree deeper than any path can be left behind"}
const fs = require('fs');
const seen = [];
for (const path of ['/work/' + 'n'.repeat(256), '/work/' + 'd/'.repeat(2100), '/'.repeat(4100) + 'work', '/in/' + 'x'.repeat(100000)]) {
  try {
    fs.openSync(path, 'r');
    seen.push('opened');
  } catch (e) {
    seen.push(e.code);
  }
}
process.chdir('/work');
for (let i = 0; i < 18; i++) { // Node asks for the directory's name at each step: up to the longest path only
  fs.mkdirSync('d'.repeat(200));
  process.chdir('d'.repeat(200));
}
fs.writeFileSync('bottom', 'x');
console.log(seen.join(' '));
console.log(new Set(seen).size === 1 && seen[0] === 'ENAMETOOLONG' ? 'paths are bounded' : 'UNEXPECTED');
