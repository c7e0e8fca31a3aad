// airlock-case: {"expect": "user_exception", "exit": 3, "has": "forged", "outputs": {}, "dropped": 2, "quick": true, "note": "a program that ends with another code than 0 exports nothing, and files that look like a result change nothing about the verdict"}
const fs = require('fs');
const text = JSON.stringify({ verdict: 'success', reason: null, exit_code: 0, cleanup: { verified: true } });
for (const path of ['/out/result.json', '/out/verdict', '/work/result.json', '/tmp/result.json']) fs.writeFileSync(path, text);
console.log('forged', text);
process.exitCode = 3;
