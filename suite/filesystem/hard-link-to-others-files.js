// airlock-case: {"expect": "success", "has": "no foreign file linked", "never": "BREACH", "in": {"given.txt": "given\n"}, "outputs": {}, "note": "a hard link would carry a file of the image or of the inputs into the outputs"}
const fs = require('fs');
const hit = [];
for (const path of ['/etc/passwd', '/etc/shadow', '/in/given.txt', process.execPath, '/proc/self/environ', '/proc/1/environ', '/dev/null']) {
  for (const to of ['/out/taken', '/work/taken', '/tmp/taken', '/dev/shm/taken']) {
    try {
      fs.linkSync(path, to);
      hit.push(`${path} ${to}`);
    } catch (e) {
      console.log(path, to, e.code);
    }
  }
}
console.log(hit.length ? 'BREACH' : 'no foreign file linked', hit.join(', '));
