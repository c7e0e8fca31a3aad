// differential: {}
const { builtinModules } = require('module');
for (const name of builtinModules) {
    const m = require(name);
    console.log(name, typeof m, Object.keys(m).length);
}
console.log(process.eventNames(), process._getActiveHandles().length);
