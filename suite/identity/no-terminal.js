// airlock-case: {"expect": "success", "has": "no terminal", "never": "BREACH", "note": "without a controlling terminal nothing can be typed into it on behalf of the caller"}
const fs = require('fs');
const tty = require('tty');
const hit = [0, 1, 2].filter((fd) => tty.isatty(fd));
for (const path of ['/dev/tty', '/dev/console', '/dev/ptmx', '/dev/tty1']) {
  try {
    fs.openSync(path, 'r+');
    hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'no terminal', hit.join(' '));
