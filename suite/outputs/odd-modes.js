// airlock-case: {"expect": "success", "has": "closed", "outputs": {"shut/in/file": 6, "suid": 1, "top": 6}, "dropped": 0, "note": "files and directories without any permission are collected all the same; setuid, setgid and open modes come out as plain ones"}
const fs = require('fs');
fs.mkdirSync('/out/shut/in', { recursive: true });
for (const path of ['/out/shut/in/file', '/out/top']) {
  fs.writeFileSync(path, 'closed');
  fs.chmodSync(path, 0);
}
fs.writeFileSync('/out/suid', 'x');
fs.chmodSync('/out/suid', 0o7777);
for (const path of ['/out/shut/in', '/out/shut', '/out']) fs.chmodSync(path, 0);
console.log('closed');
