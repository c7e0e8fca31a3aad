// differential: {"verdict": "success", "args": ["one", "", "zwei w\u00f6rter"], "env": {"EMPTY": "", "GIVEN": "gr\u00fcn = 1"}, "has": "GIVEN"}
const fs = require('fs');
for (const name of ['cmdline', 'environ', 'comm'])
  console.log(name, JSON.stringify(fs.readFileSync('/proc/self/' + name, 'utf8')));
console.log(process.title, Object.keys(process.env).sort());
