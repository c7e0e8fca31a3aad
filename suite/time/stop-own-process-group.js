// airlock-case: {"expect":"timeout","which":"wall","never":"continued","limits":{"wall_s":1,"cpu_s":60},"note":"a stopped program has not ended, and must not be taken for one that has"}
console.log("stopping all");
process.kill(0, "SIGSTOP");
console.log("continued by somebody");
