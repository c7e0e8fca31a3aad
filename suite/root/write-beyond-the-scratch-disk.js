// airlock-case: {"expect": "success", "has": "nothing beyond", "never": "BREACH", "limits": {"disk_mib": 32}, "root": true, "note": "the scratch device looks larger than the disk limit; blocks past the limit are refused by the host"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const disk = fs.readdirSync('/sys/block').find((d) => d.startsWith('vd') && fs.readFileSync(`/sys/block/${d}/serial`, 'utf8').trim() === 'airlock-scratch');
const fd = fs.openSync('/dev/' + disk, 'r+');
const end = 512 * Number(fs.readFileSync(`/sys/block/${disk}/size`, 'utf8'));
const hit = [];
for (const at of [end, 32 << 20, 64 << 20, 2 ** 30, end - 4096]) {
  try {
    fs.writeSync(fd, Buffer.alloc(4096, 'x'), 0, 4096, at);
    fs.fsyncSync(fd);
    hit.push(at);
  } catch (e) {
    console.log(at, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'nothing beyond', hit.join(' '));
