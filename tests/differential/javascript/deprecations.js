// differential: {"varies": [["node:\\d+", "node:N", "process id"]]}
const old = new Buffer(3);
process.emitWarning('own warning', { type: 'Own', code: 'OWN1', detail: 'more' });
process.emitWarning('own warning', 'DeprecationWarning', 'DEP1');
process.emitWarning('own warning', 'DeprecationWarning', 'DEP1');
require('url').parse('http://x:y');
require('events').defaultMaxListeners = 1;
process.on('exit', () => 1);
process.on('exit', () => 2);
process.binding && console.log(old.length, typeof process.binding);
