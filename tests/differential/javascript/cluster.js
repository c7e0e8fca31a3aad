// differential: {}
const cluster = require('cluster');
if (cluster.isPrimary) {
    console.log('primary', cluster.isWorker, cluster.worker, cluster.settings);
    cluster.setupPrimary({ args: ['w'] });
    const worker = cluster.fork({ MARK: 1 });
    worker.on('message', (m) => console.log('message', m));
    cluster.on('exit', (w, code, sig) => console.log('exit', w.id, code, sig, w.exitedAfterDisconnect));
} else {
    process.send([cluster.worker.id, process.argv, process.env.MARK], () => process.exit(8));
}
