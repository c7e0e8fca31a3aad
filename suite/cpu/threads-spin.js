// airlock-case: {"expect":"timeout","which":"cpu","has":"threads","limits":{"cpu_s":4,"wall_s":60,"vcpus":2},"note":"the work is in worker threads; the main thread is idle in its event loop"}
const { Worker } = require("worker_threads");

for (let i = 0; i < 2; i++) {
  const worker = new Worker("for (;;);", { eval: true });
  worker.on("online", () => console.log("threads", i));
}
