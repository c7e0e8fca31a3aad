// airlock-case: {"expect":"user_exception","signal":"SIGABRT","stdout":"no core\n","outputs":{},"note":"an abort asks for a core dump: none may be written, whatever the program sets"}
const { execSync } = require("child_process");

process.chdir(process.env.OUT);
execSync("ulimit -c unlimited; sh -c 'kill -ABRT $$'; true", { stdio: "ignore" });
console.log(require("fs").readdirSync(".").length === 0 ? "no core" : "core");
process.abort();
