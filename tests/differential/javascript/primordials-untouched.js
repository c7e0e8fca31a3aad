// differential: {}
const crypto = require('crypto');
const fs = require('fs');
const seen = [];
for (const [name, object] of Object.entries({ Object, Function, Array, Promise, Error, Math, JSON, Buffer, fs, process: process.__proto__,
    EventEmitter: require('events'), timers: require('timers'), crypto, Module: require('module'), vm: require('vm') })) {
    const members = Reflect.ownKeys(object).map(String).sort();
    seen.push(`${name} ${members.length} ${members.join(',')}`);
}
console.log(seen.join('\n'));
console.log([Math.random, crypto.randomBytes, fs.readFileSync, process.exit, require, setTimeout, queueMicrotask, Date.now].map((f) => `${f.name} ${f.length} ${f.toString().length}`));
