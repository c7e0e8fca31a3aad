// differential: {}
const fs = require('fs');
fs.mkdirSync('node_modules/pack', { recursive: true });
fs.writeFileSync('node_modules/pack/package.json', '{"main": "lib.js", "exports": {".": {"require": "./lib.js", "import": "./lib.mjs"}}}');
fs.writeFileSync('node_modules/pack/lib.js', 'module.exports = "required " + __filename;');
fs.writeFileSync('node_modules/pack/lib.mjs', 'export default "imported " + import.meta.url;');
fs.writeFileSync('util.js', 'module.exports = "own util";');
console.log(require('pack'), require('./util'), typeof require('util').inspect, require.resolve('pack'));
import('pack').then((m) => console.log(m.default, m));
