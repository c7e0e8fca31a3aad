// airlock-case: {"expect":"success","stdout":"nice refused\nidle\n","note":"a program may step back, never forward","source":"https://github.com/e2b-dev/E2B/issues/412"}
const os = require("os");

try {
  os.setPriority(-20);
  console.log("nice granted");
} catch (e) {
  console.log("nice refused");
}
os.setPriority(19);
console.log("idle");
