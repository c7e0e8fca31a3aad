// differential: {}
const { Worker, isMainThread, workerData } = require('worker_threads');
if (isMainThread) {
    console.log('main', require.main === module);
    new Worker(__filename, { workerData: [1], stdout: true }).stdout.on('data', (d) => process.stdout.write('captured ' + d));
} else {
    console.log('worker', workerData, require.main === module, process.argv, new Error('stack').stack);
}
