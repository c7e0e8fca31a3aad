// airlock-case: {"expect":"success","out_bytes":3000,"has":"012345678901234567890123456789","note":"thousands of tiny writes: none is lost, none costs a message of its own for ever","source":"https://github.com/engineer-man/piston/issues/465"}
const fs = require("fs");

for (let i = 0; i < 3000; i++) fs.writeSync(1, String(i % 10));
