// airlock-case: {"expect": "output_overflow", "which": "output_depth", "has": "levels", "limits": {"out_files": 4000}, "outputs": {}, "note": "a tree far deeper than any path is long must neither exhaust the collector's stack nor stay unremoved"}
const fs = require('fs');
process.chdir('/out');
let n = 0;
for (; n < 1000; n++) {
  fs.mkdirSync('d');
  process.chdir('d');
}
console.log('levels', n);
