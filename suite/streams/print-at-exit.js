// airlock-case: {"expect":"success","stdout":"main\nbeforeExit\nlast words","note":"output of the last moment, without a newline, still belongs to the program","source":"https://github.com/TencentCloud/CubeSandbox/issues/362"}
process.on("exit", () => process.stdout.write("last words"));
process.once("beforeExit", () => console.log("beforeExit"));
console.log("main");
