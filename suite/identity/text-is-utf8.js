// airlock-case: {"expect": "success", "stdout": "größe 日本 🂡 utf-8\n", "note": "names and streams are UTF-8 whatever the locale of the host"}
const fs = require('fs');
fs.writeFileSync('/tmp/größe-日本', 'größe 日本 🂡');
if (fs.readdirSync('/tmp').join() !== 'größe-日本') throw new Error('name');
console.log(fs.readFileSync('/tmp/größe-日本', 'utf8'), 'utf-8');
