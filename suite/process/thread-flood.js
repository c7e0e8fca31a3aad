// airlock-case: {"expect":"success","stdout":"refused\nmain goes on\n","events":["pids_refused"],"limits":{"pids":10},"note":"threads count like processes: workers are refused when there is no room for one more"}
const { Worker } = require("worker_threads");

let refused = false;
try {
  for (let i = 0; i < 50 && !refused; i++) {
    new Worker("setInterval(() => {}, 60000)", { eval: true }).on("error", () => {});
  }
} catch (e) {
  console.log("refused");
}
console.log("main goes on");
process.exit(0);
