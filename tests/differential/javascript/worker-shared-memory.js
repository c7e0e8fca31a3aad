// differential: {}
const { Worker, MessageChannel, receiveMessageOnPort, BroadcastChannel } = require('worker_threads');
const shared = new Int32Array(new SharedArrayBuffer(8));
const worker = new Worker(`
const { workerData } = require('worker_threads');
Atomics.add(workerData, 0, 41);
Atomics.store(workerData, 1, 1);
Atomics.notify(workerData, 1);
`, { eval: true, workerData: shared });
worker.on('exit', () => console.log('exit', shared));
console.log(Atomics.wait(shared, 1, 0, 30000), shared, Atomics.wait(shared, 0, 0, 1));
const { port1, port2 } = new MessageChannel();
port1.postMessage({ a: 1 });
console.log(receiveMessageOnPort(port2), receiveMessageOnPort(port2));
