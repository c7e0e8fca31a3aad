// airlock-case: {"expect":"user_exception","exit":3,"stdout":"left\n","limits":{"wall_s":6},"note":"main ends and leaves children that are stopped, that ignore signals and that spin","source":"https://github.com/ponylang/ponyc/issues/5764"}
const { spawn } = require("child_process");

for (const way of ["kill -STOP $$", "while :; do :; done", "sleep 600"]) {
  spawn("sh", ["-c", `trap '' TERM HUP INT QUIT; ${way}`], { stdio: "inherit", detached: true });
}
console.log("left");
process.exit(3);
