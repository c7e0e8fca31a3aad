// differential: {}
const { Worker } = require('worker_threads');
const worker = new Worker('const kept = []; for (;;) kept.push(new Array(1000).fill(kept.length));',
    { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 } });
worker.on('error', (e) => console.log(e.code, e.message));
worker.on('exit', (c) => console.log('exit', c));
