// airlock-case: {"expect": "user_exception", "exit": 3, "has": "written", "outputs": {}, "dropped": 2, "quick": true, "note": "a program that ends with another code than 0 exports nothing; what it wrote is only listed"}
const fs = require('fs');
for (const name of ['result', 'more']) fs.writeFileSync('/out/' + name, 'half done');
console.log('written');
process.exitCode = 3;
