// airlock-case: {"expect":"timeout","which":"wall","limits":{"wall_s":1,"cpu_s":60},"note":"handlers for all signals that have one, and exit() itself is replaced; whoever asks politely waits for ever","source":"https://github.com/earendil-works/pi/issues/7864"}
const { signals } = require("os").constants;

for (const name of Object.keys(signals)) {
  try {
    process.on(name, () => {});
  } catch {
    // SIGKILL and SIGSTOP
  }
}
process.exit = process.reallyExit = process.abort = () => {};
process.kill(process.pid, "SIGTERM");
setInterval(() => {}, 60000);
setImmediate(() => console.log("still here"));
