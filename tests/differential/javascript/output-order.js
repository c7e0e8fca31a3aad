// differential: {}
const fs = require('fs');
process.stdout.write('a', () => console.log('callback a'));
fs.writeSync(1, 'b');
process.nextTick(() => fs.writeSync(1, 'tick '));
setImmediate(() => fs.writeSync(1, 'immediate '));
Promise.resolve().then(() => fs.writeSync(1, 'micro '));
console.log('c');
process.stdout.end('the end\n');
process.stdout.on('finish', () => fs.writeSync(1, 'finished\n'));
setTimeout(() => {
    try {
        console.log('after the end');
    } catch (e) {
        fs.writeSync(2, e.code);
    }
}, 10);
process.stdout.on('error', (e) => fs.writeSync(2, `error ${e.code}\n`));
