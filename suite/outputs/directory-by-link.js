// airlock-case: {"expect": "success", "has": "written through", "outputs": {"kept": 4}, "dropped": 2, "note": "files written through a link to another directory are outside the outputs and stay there"}
const fs = require('fs');
fs.mkdirSync('/tmp/elsewhere');
fs.symlinkSync('/tmp/elsewhere', '/out/dir');
fs.symlinkSync('/in', '/out/inputs');
fs.writeFileSync('/out/dir/hidden', 'text');
fs.writeFileSync('/out/kept', 'text');
console.log('written through', fs.readdirSync('/out/dir').join());
