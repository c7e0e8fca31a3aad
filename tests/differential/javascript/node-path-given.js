// differential: {"env": {"NODE_PATH": "/in", "NODE_ENV": "production"}, "inputs": {"found.js": "module.exports = __filename;"}, "fresh": "NODE_* changes the interpreter itself"}
console.log(require('found'), require('module').globalPaths, process.env.NODE_ENV);
