// differential: {}
const { Worker, isMainThread, threadId, parentPort, workerData, resourceLimits } = require('worker_threads');
console.log(isMainThread, threadId, parentPort, workerData, resourceLimits);
const code = `
const w = require('worker_threads');
w.parentPort.postMessage([w.isMainThread, w.threadId, w.workerData, process.argv, process.execArgv, Object.keys(require.cache),
    typeof require.main, module.id, __filename, process.env.SHARED, Object.keys(process.env), process.title, process.pid > 0,
    process._preload_modules, Object.getOwnPropertyNames(globalThis).length, process.stdin === null]);
console.log('from the worker');
process.exit(5);
`;
const worker = new Worker(code, { eval: true, workerData: { a: new Map([[1, 2]]) }, argv: ['x'], env: { SHARED: 'yes' } });
worker.on('message', (m) => console.log(m));
worker.on('exit', (c) => console.log('worker exit', c));
