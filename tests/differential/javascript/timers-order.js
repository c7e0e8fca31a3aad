// differential: {}
const log = [];
setTimeout(() => log.push('timeout 2'), 2);
setTimeout(() => log.push('timeout 30'), 30);
setImmediate(() => log.push('immediate'));
process.nextTick(() => {
    log.push('tick');
    process.nextTick(() => log.push('tick in tick'));
    Promise.resolve().then(() => log.push('micro in tick'));
});
queueMicrotask(() => {
    log.push('micro');
    process.nextTick(() => log.push('tick in micro'));
});
(async () => {
    log.push('async start');
    await null;
    log.push('after await');
})();
const t = setInterval(() => log.push('interval') >= 0 && clearInterval(t), 10);
log.push('sync');
console.log(typeof t[Symbol.toPrimitive](), t.hasRef(), Object.keys(t));
process.on('exit', () => {
    const loop = log.filter((l) => l === 'immediate' || l === 'timeout 2').sort();  // these two race by design
    console.log(log.filter((l) => !loop.includes(l)), loop);
});
