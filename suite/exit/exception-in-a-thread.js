// airlock-case: {"expect":"success","stdout":"worker failed: RangeError\nmain is fine\n","note":"only a worker fails and main handles it: an exit with 0, and that is what is told"}
const { Worker } = require("worker_threads");

new Worker("throw new RangeError()", { eval: true })
  .on("error", (e) => console.log("worker failed:", e.name))
  .on("exit", () => console.log("main is fine"));
