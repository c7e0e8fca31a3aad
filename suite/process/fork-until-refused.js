// airlock-case: {"expect":"success","stdout":"exact, then EAGAIN\n","events":["pids_refused"],"limits":{"pids":32},"note":"the limit on processes is exact, the engine's own threads counted, the program is told, and goes on"}
const { spawn } = require("child_process");

const own = require("fs").readdirSync("/proc/self/task").length;
let children = 0;
let last = spawn("sleep", ["600"], { stdio: "ignore" });
while (last.pid !== undefined && children < 1000) {
  children++;
  last = spawn("sleep", ["600"], { stdio: "ignore" });
}
last.on("error", (e) => {
  console.log(own + children === 32 ? "exact," : `${own} + ${children}`, "then", e.code);
  process.exit(0);
});
