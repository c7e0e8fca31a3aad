// airlock-case: {"expect": "success", "has": "inputs as given", "never": "BREACH", "in": {"given.txt": "given\n"}, "quick": true, "note": "inputs must stay as staged whatever the program does to them"}
const fs = require('fs');
const p = '/in/given.txt';
const tries = {
  write: () => fs.openSync(p, 'r+'), append: () => fs.appendFileSync(p, 'x'), truncate: () => fs.truncateSync(p, 0),
  unlink: () => fs.unlinkSync(p), rename: () => fs.renameSync(p, '/work/moved'), replace: () => fs.renameSync('/work/main.js', p),
  chmod: () => fs.chmodSync(p, 0o777), chown: () => fs.chownSync(p, 1000, 1000), utimes: () => fs.utimesSync(p, 0, 0),
  mkdir: () => fs.mkdirSync('/in/new'), rmdir: () => fs.rmdirSync('/in'), link: () => fs.linkSync(p, '/in/second'),
  symlink: () => fs.symlinkSync('/etc', '/in/etc'),
};
const hit = [];
for (const [name, action] of Object.entries(tries)) {
  try {
    action();
    hit.push(name);
  } catch (e) {
    console.log(name, e.code);
  }
}
const same = fs.readFileSync(p, 'utf8') === 'given\n' && fs.readdirSync('/in').join() === 'given.txt';
console.log(same && !hit.length ? 'inputs as given' : 'BREACH', hit.join(' '));
