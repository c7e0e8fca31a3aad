// airlock-case: {"expect":"success","stdout":"[0,1,4,9,16,25]\n","note":"control: ordinary parallel work runs under the limits","source":"https://github.com/nodejs/node/issues/38208"}
const { Worker } = require("worker_threads");

const code = `const { parentPort, workerData } = require("worker_threads");
parentPort.postMessage(workerData.map((n) => n * n));`;
const work = (workerData) =>
  new Promise((resolve) => new Worker(code, { eval: true, workerData }).on("message", resolve));
Promise.all([work([0, 1, 2]), work([3, 4, 5])]).then((parts) =>
  console.log(JSON.stringify(parts.flat())),
);
