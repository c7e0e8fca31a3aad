// airlock-case: {"expect":"timeout","which":"wall","never":"opened","limits":{"wall_s":1,"cpu_s":60},"note":"blocked in the kernel inside open(), not in a wait that the interpreter knows of"}
require("child_process").execFileSync("mkfifo", ["fifo"]);
console.log("opening");
require("fs").readFileSync("fifo");
console.log("opened");
