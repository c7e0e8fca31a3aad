// differential: {"inputs": {"a.js": "exports.early = 1; const b = require('./b.js'); exports.b = b; exports.parent = module.parent && module.parent.id;", "b.js": "const a = require('./a.js'); module.exports = {seen: Object.keys(a), main: require.main.filename, n: module.children.length};", "data.json": "{\"k\": [1, 2]}", "broken.json": "{\"k\": [1, 2}"}}
const a = require('/in/a.js');
console.log(a, require('/in/data.json'), Object.keys(require.cache), module.children.map((m) => [m.id, m.loaded]));
delete require.cache['/in/a.js'];
console.log(require('/in/a.js') === a, module.children.length);
for (const name of ['./nothing', 'lodash', '/in/broken.json', 'node:nothing', 'fs/nothing']) {
    try {
        require(name);
    } catch (error) {
        console.log(error.name, error.code, error.message, error.requireStack);
    }
}
console.log(require('fs') === require('node:fs'), require('fs').promises === require('fs/promises'));
