// airlock-case: {"expect":"success","stdout":"EAGAIN\nstarted again\n","events":["pids_refused"],"limits":{"pids":24},"note":"while the event loop is blocked nobody reaps, and dead children fill the limit","source":"https://github.com/superradcompany/microsandbox/pull/1212"}
const { spawn } = require("child_process");

let last;
for (let i = 0; i < 1000; i++) {
  last = spawn("true", { stdio: "ignore" });
  if (last.pid === undefined) break;
}
last.on("error", (e) => {
  console.log(e.code);
  setTimeout(() => {
    spawn("true", { stdio: "ignore" }).on("exit", (code) => {
      if (code === 0) console.log("started again");
    });
  }, 300);
});
