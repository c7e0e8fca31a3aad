// differential: {}
// A package.json beside the program says how later files are read, not the program itself.
const fs = require('fs');
fs.writeFileSync('package.json', '{"type": "module"}');
fs.writeFileSync('late.js', 'export default import.meta.url;');
import('./late.js').then((m) => console.log(m.default), (e) => console.log(e.message));
