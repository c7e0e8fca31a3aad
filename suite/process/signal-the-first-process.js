// airlock-case: {"expect":"success","stdout":"parent 1\nsent 0\n","note":"the first process of the namespace belongs to the sandbox; not one signal may reach it","source":"https://github.com/vm0-ai/vm0/issues/31040"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
let sent = 0;
for (let number = 0; number < 65; number++) {
  try {
    process.kill(1, number);
    sent++;
  } catch (e) {
    if (e.code !== "EPERM") console.log(number, e.code);
  }
}
console.log("parent", process.ppid);
console.log("sent", sent);
