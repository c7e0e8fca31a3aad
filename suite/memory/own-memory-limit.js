// airlock-case: {"expect":"success","stdout":"ERR_WORKER_OUT_OF_MEMORY\nstill fine\n","note":"a program may limit its own worker and handle its end; it is no oom"}
const { Worker } = require("worker_threads");

const worker = new Worker("const a = []; for (;;) a.push([a.length]);", {
  eval: true,
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
});
worker.on("error", (e) => console.log(e.code));
worker.on("exit", () => console.log("still fine"));
