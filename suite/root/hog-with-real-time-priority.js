// airlock-case: {"expect": "timeout", "which": "cpu", "has": "hogging", "limits": {"cpu_s": 1, "wall_s": 60}, "root": true, "note": "a program above every other thread of its machine starves the agent; CPU time is counted outside"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const os = require('os');
fs.writeSync(1, 'hogging\n');
setTimeout(() => {
  fs.writeFileSync('/proc/sys/kernel/sched_rt_runtime_us', '-1');
  os.setPriority(-20);
  for (;;);
}, 200);
