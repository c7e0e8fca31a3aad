// airlock-case: {"expect": "success", "has": "in place", "never": "BREACH", "outputs": {"real": 4}, "note": "the directory of the outputs cannot be removed, renamed or replaced by a link to something else"}
const fs = require('fs');
const hit = [];
fs.mkdirSync('/tmp/other');
const tries = {
  rmdir: () => fs.rmdirSync('/out'), rename: () => fs.renameSync('/out', '/work/out'), over: () => fs.renameSync('/tmp/other', '/out'),
  link: () => fs.symlinkSync('/etc', '/out'), unlink: () => fs.unlinkSync('/out'), root: () => fs.renameSync('/out', '/away'),
};
for (const [name, action] of Object.entries(tries)) {
  try {
    action();
    hit.push(name);
  } catch (e) {
    console.log(name, e.code);
  }
}
fs.writeFileSync('/out/real', 'real');
console.log(hit.length ? 'BREACH' : 'in place', hit.join(' '));
