// airlock-case: {"expect": "success", "has": "interpreter untouched", "never": "BREACH", "note": "the interpreter, its library and the loader's configuration belong to the image; copy-up in the writable layer must not make them changeable"}
const fs = require('fs');
const hit = [];
for (const path of [process.execPath, fs.realpathSync(process.execPath), '/usr/share/nodejs', '/etc/ld.so.cache', '/etc/passwd',
  '/usr/bin/env', '/lib64/ld-linux-x86-64.so.2']) {
  const tries = {
    open: () => fs.openSync(path, 'r+'), truncate: () => fs.truncateSync(path, 0), chmod: () => fs.chmodSync(path, 0o777),
    chown: () => fs.chownSync(path, 1000, 1000), utimes: () => fs.utimesSync(path, 1, 1), rename: () => fs.renameSync(path, path + '.old'),
  };
  for (const [name, action] of Object.entries(tries)) {
    try {
      action();
      hit.push(`${name} ${path}`);
    } catch (e) {
      console.log(name, path, e.code);
    }
  }
}
console.log(hit.length ? 'BREACH' : 'interpreter untouched', hit.join(', '));
