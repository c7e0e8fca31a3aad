// airlock-case: {"expect":"success","stdout":"EMFILE\nbounded\n","note":"descriptors until there are no more; the sandbox's own work goes on","source":"https://github.com/superradcompany/microsandbox/pull/1157"}
const fs = require("fs");

let opened = 0;
try {
  for (; opened < 100000; opened++) fs.openSync("/dev/null");
} catch (e) {
  console.log(e.code);
}
console.log(opened < 4096 ? "bounded" : opened);
