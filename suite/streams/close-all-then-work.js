// airlock-case: {"expect":"success","stdout":"","outputs":{"proof.txt":5},"note":"stdin, stdout and stderr are closed: the end of a stream is not the end of the program","source":"https://github.com/DMOJ/judge-server/tree/master/testsuite/bridged_interactor/tests/py2_closes_pipes"}
const fs = require("fs");

for (const fd of [0, 1, 2]) fs.closeSync(fd);
setTimeout(() => {
  const hold = [0, 1, 2].map(() => fs.openSync("/dev/null", "r+"));
  fs.writeFileSync(process.env.OUT + "/proof.txt", "proof");
  process.exitCode = hold.length - 3;
}, 500);
