// airlock-case: {"expect": "success", "has": "no switch moved", "never": "BREACH", "note": "each of the kernel's several hundred switches in /proc/sys is tried; none opens for writing"}
const fs = require('fs');
const hit = [];
let tried = 0;
const walk = (dir) => {
  let entries = [];
  try { entries = fs.readdirSync(dir, { withFileTypes: true }); } catch (e) { return; }
  for (const e of entries) {
    const path = dir + '/' + e.name;
    if (e.isDirectory()) walk(path);
    else {
      tried++;
      try {
        fs.closeSync(fs.openSync(path, 'r+'));
        hit.push(path);
      } catch (x) { /* closed */ }
    }
  }
};
walk('/proc/sys');
console.log(hit.length || tried < 300 ? 'BREACH' : 'no switch moved', hit.slice(0, 5).join(' '), 'more than 300 tried:', tried > 300);
