// differential: {}
for (const name of ['stdout', 'stderr', 'stdin']) {
    const s = process[name];
    console.log(name, s.constructor.name, s.fd, s.isTTY, s._type, s._isStdio, s.writableHighWaterMark, s.readableHighWaterMark, s.writableLength, s.listenerCount('error'));
    console.log(Object.keys(s).sort().join(' '), s.writable, s.destroyed, s.columns, s.hasColors && s.hasColors());
}
console.log(console._stdout === process.stdout, Object.keys(console).join(' '), require('fs').fstatSync(1).isFIFO());
