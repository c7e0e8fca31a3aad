// airlock-case: {"expect": "success", "has": "stayed inside", "outputs": {"fine": 4}, "dropped": 0, "note": "paths with .. and doubled slashes resolve inside the guest; no name that climbs can come out"}
const fs = require('fs');
fs.mkdirSync('/out/sub');
for (const path of ['/out/sub/../fine', '/out/../work/climbed', '/out/..//tmp/climbed', '/out/./sub/.././fine']) fs.writeFileSync(path, 'text');
fs.rmdirSync('/out/sub');
for (const path of ['/out/../climbed', '/out/../../etc/climbed']) {
  try {
    fs.writeFileSync(path, '');
    console.log('BREACH', path);
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log('stayed inside', fs.readdirSync('/out').join());
