// differential: {}
const Module = require('module');
console.log(require.main === module, module.id, module.filename, module.loaded, module.parent, module.children, module.path);
console.log(module.paths, __filename, __dirname, Object.keys(require.cache), Object.keys(module), require.resolve.paths('x'));
console.log(module === process.mainModule, this === module.exports, this === exports, arguments.length, typeof arguments[1]);
console.log(Module.globalPaths, Module._pathCache && Object.keys(Module._pathCache), Object.keys(Module._cache), Object.keys(Module._extensions));
console.log(Module.builtinModules.length, Module.wrapper, Object.keys(require.extensions), require.main.require('path') === require('path'));
console.log(module, require.resolve('./main.js'), module.constructor === Module);
