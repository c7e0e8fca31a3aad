// airlock-case: {"expect":"timeout","which":"cpu","has":"forked","limits":{"cpu_s":1,"wall_s":60},"note":"a limit per process would give every child the whole limit again; main itself only waits","source":"https://github.com/google/kctf/issues/59"}
const { spawn } = require("child_process");

for (let i = 0; i < 4; i++) spawn("sh", ["-c", "while :; do :; done"]);
console.log("forked");
