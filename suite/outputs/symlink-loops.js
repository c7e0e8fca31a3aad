// airlock-case: {"expect": "success", "has": "loops made", "outputs": {"dir/file": 1}, "dropped": 6, "note": "links that lead to themselves, to each other or to the directory above must not send the collector round and round"}
const fs = require('fs');
fs.symlinkSync('self', '/out/self');
fs.symlinkSync('b', '/out/a');
fs.symlinkSync('a', '/out/b');
fs.mkdirSync('/out/dir');
fs.symlinkSync('..', '/out/dir/up');
fs.symlinkSync('.', '/out/dir/here');
fs.symlinkSync('/out/dir', '/out/again');
fs.writeFileSync('/out/again/file', 'x');
console.log('loops made');
