// airlock-case: {"expect":"success","stdout":"refused\nstill counting\n","note":"a program that turns the clock back must not gain time","source":"https://github.com/ioi/isolate/issues/178"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
const { spawnSync } = require("child_process");

const wall = Date.now();
const set = spawnSync("date", ["--set", "1999-12-31 23:59:59"]);
console.log(set.status === 0 ? "set" : "refused");
setTimeout(() => {
  if (wall > 1.7e12 && Date.now() - wall >= 200) console.log("still counting");
}, 200);
