// airlock-case: {"expect":"timeout","which":"wall","never":"line","limits":{"wall_s":1,"cpu_s":60},"note":"a sleeper uses no CPU, so only the wall limit can end it","source":"https://github.com/ioi/isolate/issues/72"}
process.stdout.write("half a li");
setTimeout(() => console.log("ne"), 2 ** 30);
