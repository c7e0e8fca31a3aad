// airlock-case: {"expect": "success", "has": "both refused", "never": "BREACH", "in": {"given.txt": "given\n"}, "root": true, "note": "the disks with image and inputs are read-only outside the guest, so its root cannot write them either"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const hit = [];
for (const disk of fs.readdirSync('/sys/block').filter((d) => d.startsWith('vd'))) {
  if (fs.readFileSync(`/sys/block/${disk}/serial`, 'utf8').trim() === 'airlock-scratch') continue;
  try {
    const fd = fs.openSync('/dev/' + disk, 'rs+');
    fs.writeSync(fd, 'ruined', 0);
    hit.push(disk);
  } catch (e) {
    console.log(disk, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'both refused', hit.join(' '), fs.readFileSync('/in/given.txt', 'utf8').trim());
