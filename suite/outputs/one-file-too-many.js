// airlock-case: {"expect": "output_overflow", "which": "output_files", "has": "made", "limits": {"out_files": 10}, "outputs": {}, "note": "directories, links and empty files all count against the number of entries"}
const fs = require('fs');
for (let n = 0; n < 4; n++) {
  fs.mkdirSync(`/out/dir${n}`);
  fs.writeFileSync(`/out/dir${n}/empty`, '');
}
for (let n = 0; n < 3; n++) fs.symlinkSync('x', `/out/link${n}`);
console.log('made 11');
