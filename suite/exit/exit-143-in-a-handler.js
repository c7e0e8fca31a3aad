// airlock-case: {"expect":"user_exception","exit":143,"stdout":"asked to stop\n","note":"the program catches SIGTERM and ends as a shell would show it: still an exit code"}
process.on("SIGTERM", () => {
  console.log("asked to stop");
  process.exit(143);
});
process.kill(process.pid, "SIGTERM");
setInterval(() => {}, 60000);
