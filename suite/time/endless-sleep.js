// airlock-case: {"expect":"timeout","which":"wall","stdout":"half a li","limits":{"wall_s":1,"cpu_s":60},"note":"a sleeper uses no CPU, so only the wall limit can end it; half a line must still come back","source":"https://github.com/ioi/isolate/issues/72"}
process.stdout.write("half a li");
setTimeout(() => console.log("ne"), 2 ** 30);
