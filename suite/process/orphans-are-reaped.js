// airlock-case: {"expect":"success","stdout":"60 orphans\n","limits":{"pids":24},"note":"orphans go to the namespace's first process, which has to reap them or the limit fills up","source":"https://github.com/superradcompany/microsandbox/pull/1212"}
const { spawnSync } = require("child_process");

let orphans = 0;
for (let round = 0; round < 12; round++) {
  const script = "for i in 1 2 3 4 5; do (sleep 0 &) ; done";
  if (spawnSync("sh", ["-c", script]).status === 0) orphans += 5;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}
console.log(orphans, "orphans");
