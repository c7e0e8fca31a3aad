// airlock-case: {"expect": "success", "has": "clock runs", "note": "the date is a real one and goes on, and the uptime is that of a machine made for this job"}
const fs = require('fs');
const wall = Date.now(), mono = process.hrtime.bigint();
while (process.hrtime.bigint() - mono < 300000000n);
const step = (Date.now() - wall) / 1000;
const up = Number(fs.readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
const year = new Date(wall).getUTCFullYear();
console.log(year, step, 'up less than ten minutes:', up < 600);
console.log(year >= 2025 && year < 2100 && step > 0.2 && up < 600 ? 'clock runs' : 'ODD CLOCK');
