// airlock-case: {"expect":"timeout","which":"wall","limits":{"wall_s":3,"cpu_s":60,"pids":48,"mem_mib":384},"note":"the program starts itself twice and waits: new images by exec, not mere copies"}
if (process.getuid() === 0) throw new Error("for a sandbox only");
const { spawn } = require("child_process");

console.log("generation");
for (let i = 0; i < 2; i++) {
  spawn(process.execPath, [__filename], { stdio: "inherit" }).on("error", () => {});
}
setInterval(() => {}, 60000);
