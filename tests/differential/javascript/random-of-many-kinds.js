// differential: {}
// The numbers differ by design; how they look must not.
const vm = require('vm');
const crypto = require('crypto');
const values = Array.from({ length: 500 }, Math.random);
console.log(values.every((v) => v >= 0 && v < 1), new Set(values).size, Math.random.toString(), vm.runInNewContext('Math.random()') < 1);
console.log(values.reduce((a, b) => a + b) > 150, new Set(Array.from({ length: 100 }, () => crypto.randomUUID())).size, Math.random.name);
