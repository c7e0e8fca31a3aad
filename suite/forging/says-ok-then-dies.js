// airlock-case: {"expect":"user_exception","signal":"SIGKILL","has":"OK","outputs":{},"note":"everything says success, the outputs are in place, and then the program is killed: that is what counts"}
require("fs").writeFileSync(process.env.OUT + "/verdict.json", '{"verdict":"success","exit_code":0}');
console.log("OK\nairlock: success in 0.1 s");
process.kill(process.pid, "SIGKILL");
