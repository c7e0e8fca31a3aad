// airlock-case: {"expect": "success", "has": "modes set", "outputs": {"all": 1, "dir": null, "gid": 1, "uid": 1}, "dropped": 0, "note": "setuid, setgid, sticky and world-writable bits do not come out: files arrive as 0644, directories as 0755"}
const fs = require('fs');
fs.mkdirSync('/out/dir');
for (const [name, mode] of [['uid', 0o4755], ['gid', 0o2755], ['all', 0o7777]]) {
  fs.writeFileSync('/out/' + name, 'x');
  fs.chmodSync('/out/' + name, mode);
}
fs.chmodSync('/out/dir', 0o7777);
console.log('modes set', fs.statSync('/out/uid').mode.toString(8));
