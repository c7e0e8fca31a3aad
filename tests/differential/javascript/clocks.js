// differential: {}
const { performance } = require('perf_hooks');
const t = process.hrtime.bigint();
const now = Date.now();
console.log(Math.abs(performance.timeOrigin + performance.now() - now) < 2000, performance.now() > 0, performance.now() < 60000);
console.log(process.uptime() < 60, process.uptime() > 0, Math.abs(process.uptime() * 1000 - performance.now()) < 1000);
console.log(process.hrtime().length, new Date(0).toString(), new Date().getTimezoneOffset());
setTimeout(() => {
    console.log(process.hrtime.bigint() - t >= 9000000n, Date.now() - now >= 9, Date.now() - now < 20000);
    const fs = require('fs');
    fs.writeFileSync('now', '');
    console.log(Math.abs(fs.statSync('now').mtimeMs - Date.now()) < 5000, Math.abs(fs.statSync('main.js').mtimeMs - Date.now()) < 300000);
    console.log(Object.keys(performance.nodeTiming), performance.nodeTiming.bootstrapComplete > 0, performance.nodeTiming.loopStart > 0);
}, 10);
