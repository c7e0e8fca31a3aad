// airlock-case: {"expect":"user_exception","exit":9,"stdout":"done\n","note":"a handler at the very end changes the exit code: what the process returned counts"}
process.on("exit", () => {
  process.exitCode = 9;
});
console.log("done");
