// airlock-case: {"expect":"user_exception","exit":7,"stdout":"written\n","note":"an exit that runs no handler"}
process.on("exit", () => console.log("handler"));
console.log("written");
process.reallyExit(7);
