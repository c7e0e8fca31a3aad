// airlock-case: {"expect":"success","stdout":"refused\nlowered\n","note":"limits of the process can be lowered by the program and not raised","source":"https://github.com/superradcompany/microsandbox/issues/494"}
const { spawnSync } = require("child_process");

const run = (command) => spawnSync("sh", ["-c", command]).status === 0;
console.log(run("ulimit -Hn 1000000") || run("ulimit -Hc unlimited") ? "raised" : "refused");
console.log(run("ulimit -n 8 && ulimit -f 0") ? "lowered" : "not lowered");
