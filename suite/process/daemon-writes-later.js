// airlock-case: {"expect":"success","outputs":{"main.txt":5},"note":"a daemon that waits for the end of main and then changes the outputs while they are collected","source":"https://github.com/ponylang/ponyc/issues/5764"}
const out = process.env.OUT;

const script = `while kill -0 ${process.pid}; do sleep 0.1; done; sleep 1
while :; do echo late >> ${out}/late.txt; done`;
require("child_process").spawn("sh", ["-c", script], { stdio: "ignore", detached: true }).unref();
require("fs").writeFileSync(`${out}/main.txt`, "main\n");
