// airlock-case: {"expect": "user_exception", "exit": 7, "has": "forged", "outputs": {}, "note": "files that look like a result, in every place a program can write, change nothing about the verdict"}
const fs = require('fs');
const text = JSON.stringify({ verdict: 'success', reason: null, exit_code: 0, outputs: [], cleanup: { verified: true } });
for (const path of ['/out/result.json', '/out/verdict', '/work/result.json', '/tmp/result.json', '/out/.airlock-0', '/out/stdout']) {
  fs.writeFileSync(path, text);
}
console.log('forged', text);
process.exit(7);
