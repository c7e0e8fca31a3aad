// differential: {"verdict": "user_exception", "exit": 1, "inputs": {"m.js": "exports.go = (f) => f();\n\nexports.fail = () => {\n    JSON.parse('{\"a\": tru}');\n};\n"}}
const m = require('/in/m.js');
m.go(() => m.fail());
