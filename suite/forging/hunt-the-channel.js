// airlock-case: {"expect":"success","stdout":"nothing inherited\nno channel\n","note":"a descriptor left open or a port in reach would let the program speak to the host in the agent's name","source":"https://github.com/vm0-ai/vm0/issues/31040"}
const fs = require("fs");
const { spawnSync } = require("child_process");

// A child gets what the engine did not open itself with close-on-exec.
const fds = spawnSync("sh", ["-c", "cd /proc/self/fd && echo *"], { stdio: ["inherit", "pipe", "inherit"] });
console.log(/^0 1 2( \d)?$/.test(String(fds.stdout).trim()) ? "nothing inherited" : String(fds.stdout));
const ports = fs.readdirSync("/dev").filter((name) => /port|hvc|vsock|virtio/.test(name));
console.log(ports.length === 0 ? "no channel" : ports);
