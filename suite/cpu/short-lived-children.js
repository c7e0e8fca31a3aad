// airlock-case: {"expect":"timeout","which":"cpu","has":"started","limits":{"cpu_s":1,"wall_s":60},"note":"each child is gone before anybody samples it, so only a count that keeps reaped processes sees the work","source":"https://github.com/google/kctf/issues/59"}
const { spawnSync } = require("child_process");

console.log("started");
for (;;) spawnSync("sh", ["-c", "for i in 1 2 3 4 5; do true | true; done"]);
