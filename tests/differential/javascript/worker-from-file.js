// differential: {"inputs": {"w.js": "const { parentPort } = require('worker_threads'); parentPort.postMessage([__filename, require.main === module, require.main && require.main.filename, module.parent, process.argv, module.paths]); parentPort.once('message', () => { throw new TypeError('in the worker'); });", "w.mjs": "import { parentPort } from 'worker_threads'; parentPort.postMessage(import.meta.url);"}}
const { Worker } = require('worker_threads');
const worker = new Worker('/in/w.js', { argv: ['extra'] });
worker.on('message', (m) => {
    console.log(m);
    worker.postMessage('go');
});
worker.on('error', (e) => console.log(e.name, e.message, e.stack.split('\n')[1]));
worker.on('exit', (c) => {
    console.log('exit', c);
    new Worker('/in/w.mjs').on('message', console.log);
});
