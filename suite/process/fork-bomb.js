// airlock-case: {"expect":"timeout","which":"wall","limits":{"wall_s":2,"cpu_s":60},"note":"the classic, by a shell script that starts itself over and over; main only waits","source":"https://github.com/superradcompany/microsandbox/issues/494"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
require("fs").writeFileSync("bomb.sh", "while :; do sh bomb.sh & done\n");
require("child_process").spawn("sh", ["bomb.sh"], { stdio: "ignore", detached: true });
console.log("lit");
setInterval(() => {}, 60000);
