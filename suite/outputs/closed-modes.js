// airlock-case: {"expect": "success", "has": "closed", "outputs": {"shut": null, "shut/in": null, "shut/in/file": 6, "top": 6}, "dropped": 0, "note": "files and directories without any permission are the program's own and are collected all the same"}
const fs = require('fs');
fs.mkdirSync('/out/shut/in', { recursive: true });
for (const path of ['/out/shut/in/file', '/out/top']) {
  fs.writeFileSync(path, 'closed');
  fs.chmodSync(path, 0);
}
for (const path of ['/out/shut/in', '/out/shut', '/out']) fs.chmodSync(path, 0);
console.log('closed');
