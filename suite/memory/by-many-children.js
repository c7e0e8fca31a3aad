// airlock-case: {"expect":"success","stdout":"killed one\n","events":["oom_kill"],"limits":{"mem_mib":256},"note":"each child is well below the limit, together they are above it"}
const { spawn } = require("child_process");

// Each holds its block: it is read in full and then does not fit into the pipe.
const children = [];
for (let i = 0; i < 3; i++) {
  const child = spawn("dd", ["if=/dev/zero", "bs=110M", "count=1"]);
  child.stdout.pause();
  child.once("exit", (code, signal) => {
    if (signal === "SIGKILL") {
      console.log("killed one");
      process.exit(0);
    }
  });
  children.push(child);
}
