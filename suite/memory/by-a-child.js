// airlock-case: {"expect":"success","stdout":"child died by SIGKILL\nmain goes on\n","events":["oom_kill"],"limits":{"mem_mib":160},"note":"only a child was killed: the event is told, and the verdict follows the main program"}
// tail keeps all of a last line that never ends.
const { signal } = require("child_process").spawnSync("tail", ["-n", "1", "/dev/zero"]);
console.log("child died by", signal);
console.log("main goes on");
