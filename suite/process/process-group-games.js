// airlock-case: {"expect":"success","stdout":"group died by SIGTERM\n","note":"children in groups and sessions of their own; whoever tracks the program by those loses them"}
const { spawn } = require("child_process");

spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref();
const child = spawn("sh", ["-c", "echo ready; sleep 600 & wait"], { detached: true });
child.stdout.once("data", () => process.kill(-child.pid, "SIGTERM"));
child.on("exit", (code, signal) => {
  console.log("group died by", signal);
});
