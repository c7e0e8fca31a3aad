// airlock-case: {"expect":"success","stdout":"main done\n","limits":{"wall_s":6},"note":"a daemon keeps stdout open for an hour: waiting for the end of file would hang, and the daemon has to die","source":"https://github.com/ponylang/ponyc/issues/5764"}
const { spawn } = require("child_process");

spawn("sh", ["-c", "sleep 3600; echo an hour later"], { stdio: "inherit", detached: true }).unref();
console.log("main done");
