// differential: {"stdin": "\u0000\u0001\u00ff\r\n binary\u001a"}
const fs = require('fs');
console.log(fs.readFileSync(0), fs.readFileSync(0).length);
