// airlock-case: {"expect": "success", "has": "EMFILE", "note": "a program that holds every descriptor it can get ends normally; agent and host keep theirs"}
const fs = require('fs');
const held = [];
let end = 'no end';
try {
  while (held.length < 100000) held.push(fs.openSync('/dev/null', 'r'));
} catch (e) {
  end = e.code;
}
for (const fd of held.slice(0, 5)) fs.closeSync(fd);
console.log(end, 'at most 4096:', held[held.length - 1] < 4096);
