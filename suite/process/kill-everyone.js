// airlock-case: {"expect":"success","stdout":"child died by SIGKILL\nalive\n","note":"kill(-1) reaches everything the program may signal: that must be its own processes and nothing of the sandbox","source":"https://github.com/vm0-ai/vm0/issues/31040"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
const child = require("child_process").spawn("sleep", ["600"]);

child.on("exit", (code, signal) => {
  console.log("child died by", signal);
  console.log("alive");
});
process.kill(-1, "SIGKILL");
