// airlock-case: {"expect":"success","stdout":"Žluťoučký kůň 🐎 прыг\n","note":"characters arrive in pieces of a byte: whoever decodes each piece by itself destroys them","source":"https://github.com/strands-agents/harness-sdk/issues/4156"}
const fs = require("fs");

const bytes = Buffer.from("Žluťoučký kůň 🐎 прыг\n");
let i = 0;
const timer = setInterval(() => {
  fs.writeSync(1, bytes, i++, 1);
  if (i === bytes.length) clearInterval(timer);
}, 10);
