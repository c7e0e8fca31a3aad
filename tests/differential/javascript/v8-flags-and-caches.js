// differential: {}
const v8 = require('v8');
v8.setFlagsFromString('--expose-gc');
require('vm').runInNewContext('gc')();
console.log(v8.deserialize(v8.serialize({ a: [1, new Set([2])] })), typeof gc, v8.startupSnapshot && v8.startupSnapshot.isBuildingSnapshot());
