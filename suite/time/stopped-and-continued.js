// airlock-case: {"expect":"user_exception","exit":6,"stdout":"continued\n","note":"whoever waits for the program must not take 'stopped' for 'ended'","source":"https://github.com/ioi/isolate/blob/master/isolate.c"}
const { spawn } = require("child_process");

const script = `until read -r a b state rest < /proc/${process.pid}/stat && [ "$state" = T ]; do sleep 0.1; done
kill -CONT ${process.pid}`;
spawn("sh", ["-c", script], { stdio: "ignore" }).unref();
process.kill(process.pid, "SIGSTOP");
console.log("continued");
process.exit(6);
